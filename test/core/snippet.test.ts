import { snippet } from '@stoa/core/domain/snippet'
import { parseSearch, wordsIn } from '@stoa/core/domain/words'
import { expect } from 'chai'
import fc from 'fast-check'

const of = (text: string, search: string): string => snippet(text, parseSearch(search))
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
  fc
    .array(
      fc.constantFrom('ab', ' ', '<b>', '&', 'é', 'e\u0301', '㍿', 'ｶ', 'ﾞ', 'ㄱ', 'ㅏ', 'İ', 'Σ', '\u0345', '🏛', '…', '\n'),
      { maxLength: 900, size: 'max' }
    )
    .map((parts) => parts.join(''))
)

describe('a snippet', () => {
  it('marks whole words and prefixes, in any case', () => {
    expect(of('Foo food\n\n FOOD fo', 'foo')).to.equal('<mark>Foo</mark> food FOOD fo')
    expect(of('Foo food\n\n FOOD fo', 'foo*')).to.equal('<mark>Foo</mark> <mark>food</mark> <mark>FOOD</mark> fo')
    expect(of('バグを修正した', '修正')).to.equal('バグを<mark>修</mark><mark>正</mark>した')
    expect(of('a ﬁx, the Ｃａｆｅ\u0301 ㍿', 'FIX café 式 社')).to.equal(
      'a <mark>ﬁx</mark>, the <mark>Ｃａｆｅ\u0301</mark> <mark>㍿</mark>'
    )
  })

  it('escapes everything else', () => {
    expect(of(`<script>alert("x" & 'y')</script>`, 'script')).to.equal(
      '&lt;<mark>script</mark>&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/<mark>script</mark>&gt;'
    )
    expect(of('</mark><mark>', 'mark')).to.equal('&lt;/<mark>mark</mark>&gt;&lt;<mark>mark</mark>&gt;')
  })

  it('shows what is around the first match, with … where it was cut', () => {
    const far = of(`${'word '.repeat(5000)}needle${' word'.repeat(5000)}`, 'needle')
    expect(far)
      .to.match(/^…(word )+<mark>needle<\/mark>( word)+( w?o?r?)?…$/)
      .and.to.have.length.within(190, 220)
    expect(of(`needle${' word'.repeat(5000)}`, 'needle')).to.match(/^<mark>needle<\/mark>( word)+( w?o?r?)?…$/)
    expect(of(`${'word '.repeat(5000)}needle`, 'needle')).to.match(/^…(word )+<mark>needle<\/mark>$/)
  })

  it('is the beginning when nothing matches, and around the match however far behind it is', () => {
    expect(of('short', 'other')).to.equal('short')
    expect(of('word '.repeat(200_000), 'needle')).to.match(/^(word ){39}word…$/)
    expect(of(`${'needles '.repeat(200_000)}NEEDLE`, 'needle')).to.match(/^…\w* ?(needles )+<mark>NEEDLE<\/mark>$/)
    expect(of('', 'x')).to.equal('')
  })

  it('marks each word that a search for it finds, halves no character, and lets no markup through', () => {
    fc.assert(
      fc.property(texts, fc.nat(), (text, pick) => {
        const words = wordsIn(text)
        const word = words[pick % (words.length || 1)] ?? 'none'
        const html = snippet(text, [{ word, prefix: false }])
        expect(html.includes('<mark>')).to.equal(words.length > 0)
        expect(html.isWellFormed()).to.equal(true)
        expect(html.replaceAll(/<mark>[^<]+<\/mark>/g, '_')).not.to.match(/[<>"']|\s\s/)
      }),
      { numRuns: 1000 }
    )
  })

  it('comes from a text of one word, of white space, of marks, of a million characters', () => {
    expect(of('x'.repeat(1_000_000), 'x*')).to.equal(`<mark>${'x'.repeat(200)}</mark>…`)
    expect(of(' '.repeat(1_000_000), 'x')).to.equal('…')
    expect(of(`a${'\u0301'.repeat(1_000_000)}`, 'á*')).to.match(/^<mark>a\u0301{199}<\/mark>…$/)
    expect(of(`${'\u0316\u0301'.repeat(500_000)}`, 'x')).to.match(/^[\u0316\u0301]+…$/)
    expect(of('修'.repeat(1_000_000), '修')).to.equal(`${'<mark>修</mark>'.repeat(200)}…`)
  })
})
