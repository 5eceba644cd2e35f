import { indexWords, parseSearch, wordsIn } from '@stoa/core/domain/words'
import type { Content } from '@stoa/core/schema/messages'
import { expect } from 'chai'
import fc from 'fast-check'

const texts = fc.string({ unit: 'binary', maxLength: 100, size: 'max' })

describe('the words of a text', () => {
  it('are runs of letters, marks and digits in lower case', () => {
    expect(wordsIn("Don't PANIC, user_id=42 (ﬁx) Ｆｕｌｌ!")).to.deep.equal([
      'don',
      't',
      'panic',
      'user',
      'id',
      '42',
      'fix',
      'full'
    ])
    expect(wordsIn('a A é e\u0301 हिन्दी')).to.deep.equal(['a', 'a', 'é', 'é', 'हिन्दी'])
    expect(wordsIn('ΟΔΟΣ οδός')).to.deep.equal(['οδοσ', 'οδόσ'])
    expect(wordsIn('❤️ … --')).to.deep.equal([])
  })

  it('are single characters in Chinese and Japanese, next to other words as well', () => {
    expect(wordsIn('abc修正bugラーメンｶﾞ、です')).to.deep.equal([...['abc', '修', '正', 'bug'], ...'ラーメンガです'])
  })

  it('are cut to 64 code points', () => {
    expect(wordsIn(`${'x'.repeat(1_000_000)} ${'𝒳'.repeat(65)} ${'𐐨'.repeat(65)}`)).to.deep.equal([
      'x'.repeat(64),
      'x'.repeat(64),
      '𐐨'.repeat(64)
    ])
  })

  it('are one word however long, and end where another script begins', () => {
    for (const length of [255, 256, 257, 512, 10_000_000])
      expect(wordsIn(`${'x'.repeat(length)}修x`)).to.deep.equal(['x'.repeat(64), '修', 'x'])
  })

  it('have at most 30 marks in a row, for sorting a million would take hours', () => {
    expect(wordsIn(`x${'\u0316\u0301'.repeat(500_000)}y`)).to.deep.equal([`x${'\u0316'.repeat(15)}${'\u0301'.repeat(15)}y`])
  })

  it('stay what they are when they are taken again', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const words = wordsIn(text)
        expect(wordsIn(words.join(' '))).to.deep.equal(words)
        expect(indexWords(text)).to.equal([...new Set(words)].join(' '))
      }),
      { numRuns: 500 }
    )
  })
})

describe('what is indexed of a message', () => {
  it('is each word of its text once', () => {
    const tool = { type: 'tool_use', name: 'Read', input: { path: 'a/d' } }
    const content: Content = [{ type: 'text', text: 'b a B\0c' } as { type: string }, tool]
    expect(indexWords(content)).to.equal('b a c read d')
    expect(indexWords(null)).to.equal('')
  })

  it('is at most 400,000 bytes', () => {
    const index = indexWords(Array.from({ length: 200_000 }, (_, n) => `é${n}`).join(' '))
    expect(Buffer.byteLength(index)).to.be.within(399_000, 400_000)
    expect(index).to.match(/ é\d+$/)
  })
})

describe('a search', () => {
  it('is the words that were typed, once each, and a star makes a prefix', () => {
    expect(parseSearch(' Foo bar* "foo" 修* ')).to.deep.equal([
      { word: 'foo', prefix: false },
      { word: 'bar', prefix: true },
      { word: '修', prefix: true }
    ])
    expect(parseSearch('a * * *b -')).to.deep.equal([
      { word: 'a', prefix: false },
      { word: 'b', prefix: false }
    ])
  })

  it('asks for the whole word when its prefix is asked for as well', () => {
    for (const search of ['a a*', 'a* a', 'a* a a*']) expect(parseSearch(search)).to.deep.equal([{ word: 'a', prefix: false }])
  })
})
