import { estimateTokens, plainText, previewOf } from '@stoa/core/domain/message-text'
import type { Content } from '@stoa/core/schema/messages'
import { expect } from 'chai'
import fc from 'fast-check'

const blocks = (...list: unknown[]): Content => list as Content
const hostile = fc.oneof(
  fc.jsonValue(),
  fc.array(fc.record({ type: fc.constantFrom('text', 'tool_use', 'image'), text: fc.jsonValue() }))
)

describe('the text of a message', () => {
  it('is what a person reads in it, and never the bytes of a file', () => {
    const content = blocks(
      { type: 'text', text: 'Look' },
      { type: 'tool_use', id: 't1', name: 'read', input: { path: 'a.ts', lines: [1, 'two', { deep: 'three' }] } },
      {
        type: 'tool_result',
        tool_use_id: 't1',
        content: [
          { type: 'text', text: 'found' },
          { type: 'image', alt: 'chart', data: 'QUJD' }
        ]
      },
      { type: 'tool_result', tool_use_id: 't2', content: 'plain' },
      { type: 'image', title: 'photo', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
      { type: 'document', name: 5, url: 'https://example.org/x' },
      { type: 'from_the_future', text: 'new', other: 'hidden' },
      { type: 'from_the_future', text: 7 }
    )
    expect(plainText(content)).to.equal('Look\nread\na.ts\ntwo\nthree\nfound\nchart\nplain\nphoto\nnew')
    expect([plainText(null), plainText('as it is '), plainText([])]).to.deep.equal(['', 'as it is ', ''])
  })

  it('is found in any JSON, however deep', () => {
    const nested = (open: string, close: string): Content =>
      JSON.parse(`[${open.repeat(10_000)}"end"${close.repeat(10_000)}]`) as Content
    const results = nested('{"type":"tool_result","content":[', ']}')
    const input = JSON.parse(`[{"type":"tool_use","name":"x","input":${'['.repeat(10_000)}${']'.repeat(10_000)}}]`) as Content
    expect([plainText(results), plainText(input), previewOf(input)]).to.deep.equal(['', 'x', 'x'])
    expect(estimateTokens(results)).to.be.greaterThan(10_000)
    expect(estimateTokens(input)).to.be.greaterThan(5_000)
    fc.assert(
      fc.property(hostile, (json) => {
        expect(plainText(json as Content)).to.be.a('string')
        expect(previewOf(json as Content)).to.be.a('string')
        expect(estimateTokens(json as Content)).to.satisfy(Number.isSafeInteger)
      })
    )
  })
})

describe('the preview of a message', () => {
  it('is its first 200 characters with white space collapsed', () => {
    expect(previewOf('  a\n\n b\0\tc  ')).to.equal('a b c')
    expect(previewOf(blocks({ type: 'text', text: ' ' }, { type: 'text', text: 'x ' }, { type: 'text', text: 'y' }))).to.equal(
      'x y'
    )
    expect([previewOf(null), previewOf(' \n'), previewOf(blocks({ type: 'image', data: 'QUJD' }))]).to.deep.equal(['', '', ''])
    expect(previewOf('🏛'.repeat(1_000_000))).to.equal('🏛'.repeat(200))
    expect(previewOf(`${'a'.repeat(199)} b`)).to.equal('a'.repeat(199))
  })

  it('is the beginning of the collapsed text, and well formed', () => {
    const pieces = fc.array(fc.constantFrom(' ', '\n', '\0', 'ab', 'x'.repeat(150), '🏛', '\ud83c'), {
      maxLength: 30,
      size: 'max'
    })
    fc.assert(
      fc.property(pieces, (parts) => {
        const collapsed = parts
          .join('')
          .replaceAll(/[\s\0]+/g, ' ')
          .trim()
        expect(previewOf(parts.join(''))).to.equal([...collapsed].slice(0, 200).join('').trimEnd().toWellFormed())
      })
    )
  })
})

describe('the estimated tokens of a message', () => {
  it('are four and one for each four bytes', () => {
    expect([null, '', 'abcd', 'abcde', '€€'].map(estimateTokens)).to.deep.equal([4, 4, 5, 6, 6])
    const content = blocks({ type: 'text', text: 'hello' }, { type: 'tool_use', input: { a: [1, true, null] } })
    expect(estimateTokens(content)).to.equal(4 + Math.ceil(JSON.stringify(content).length / 4))
  })

  it('count a file flat, by data or by address, inside the result of a tool too', () => {
    const image = { type: 'image', source: { type: 'base64', data: 'A'.repeat(100_000) } }
    expect(estimateTokens(blocks(image))).to.equal(1505)
    expect(estimateTokens(blocks({ type: 'audio', url: 'https://example.org/a' }, image))).to.equal(3005)
    const nested = estimateTokens(blocks({ type: 'tool_result', tool_use_id: 't', content: [image] }))
    expect(nested).to.be.within(1505, 1540)
    expect(estimateTokens(blocks({ type: 'document', title: 'no data' }))).to.be.lessThan(30)
  })
})
