import { exportFileName, markdownHead, markdownMessage } from '@stoa/core/domain/transcript-markdown'
import type { Content } from '@stoa/core/schema/messages'
import { expect } from 'chai'
import fc from 'fast-check'

const ID = '0198a3b4-0000-7000-8000-000000000001'
const AT = '2026-01-02T03:04:05.678Z'
const message = (content: unknown, more: { edited_at?: string; boundary_seq?: number | null } = {}): string =>
  markdownMessage({ seq: 3, role: 'user', content: content as Content, created_at: AT, edited_at: null, ...more })
const body = (content: unknown): string => message(content).split('\n\n').slice(1).join('\n\n').trimEnd()

describe('a transcript in Markdown', () => {
  it('begins with the title and what is known of the session, a line each', () => {
    const session = { session_id: ID, title: 'Fix\n# it\u2028now', agent: 'a\r- b', model: null, created_at: AT }
    expect(markdownHead(session)).to.equal(`# Fix # it now\n\n- Session: ${ID}\n- Created: ${AT}\n- Agent: a - b\n\n`)
    expect(markdownHead({ ...session, title: ' ' })).to.match(/^# Untitled session\n/)
  })

  it('has the text of a message as it is, below a heading', () => {
    expect(message('*hi*\n\nthere')).to.equal(`## 3 · user · ${AT}\n\n*hi*\n\nthere\n\n`)
    expect(message('x', { edited_at: AT })).to.match(/^## 3 · user · \S+ · edited \S+\n/)
    expect(message(null)).to.equal(`## 3 · user · ${AT}\n\n_(empty)_\n\n`)
  })

  it('says what a boundary stands for', () => {
    expect(message('sum', { boundary_seq: 12 })).to.include('\n\n_(stands for all messages up to 12)_\n\nsum\n')
    expect(message('sum', { boundary_seq: null })).not.to.include('stands for')
  })

  it('links a file that has an address on the web, and nothing else', () => {
    expect(body([{ type: 'image', source: { type: 'url', url: 'https://example.org/a)b<c>?q=(1)' } }])).to.equal(
      '[image](https://example.org/a%29b%3Cc%3E?q=%281%29)'
    )
    expect(body([{ type: 'document', title: 'a](javascript:x)\n', url: 'http://example.org/' }])).to.equal(
      '[document: a\\](javascript:x)](http://example.org/)'
    )
    expect(body([{ type: 'image', url: 'javascript:alert(1)' }])).to.equal('_[image]_')
  })

  it('has no bytes of files, at any depth', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJDRA==' } }
    expect(body([image])).to.equal('_[image, image/png]_')
    const nested = body([
      { type: 'tool_result', content: [image] },
      { type: 'clip', url: 'data:video/mp4;base64,QUJDRA==', base64: 'QUJDRA'.repeat(100) }
    ])
    expect(nested).to.include('image/png').and.not.to.include('QUJDRA')
    expect(body([{ type: 'tool_use', input: { data: 'short text' } }])).to.include('"data": "short text"')
  })

  it('fences other blocks so that nothing in them ends the fence', () => {
    expect(body([{ type: 'tool_use', name: 'x' }])).to.equal('```json\n{\n  "type": "tool_use",\n  "name": "x"\n}\n```')
    fc.assert(
      fc.property(fc.array(fc.constantFrom('`', '``', '\n', 'a', '__proto__'), { maxLength: 20, size: 'max' }), (parts) => {
        const block = { type: 'other', [parts.join('')]: parts.join('') }
        const [, fence, json] = /^(`{3,})json\n([^]*)\n\1$/.exec(body([block]))!
        expect(json).not.to.include(fence)
        expect(JSON.parse(json!)).to.deep.equal(block)
      })
    )
  })

  it('stays small for JSON that is nested without end', () => {
    const deep: unknown = JSON.parse(`[{"type":"x","in":${'['.repeat(10_000)}${']'.repeat(10_000)}}]`)
    expect(body(deep)).to.have.length.below(5000)
  })
})

describe('the name of an exported file', () => {
  it('is made of the title and the id', () => {
    expect(exportFileName({ session_id: ID, title: 'Fix the bug!' }, 'md')).to.equal(`fix-the-bug-${ID}.md`)
    expect(exportFileName({ session_id: ID, title: '  Crème/../brûlée ' }, 'json')).to.equal(`creme-brulee-${ID}.json`)
    for (const title of [null, '', '修正', '../..'])
      expect(exportFileName({ session_id: ID, title }, 'md')).to.equal(`session-${ID}.md`)
  })

  it('is safe and short for any title', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200, size: 'max' }), (title) => {
        expect(exportFileName({ session_id: ID, title }, 'md')).to.match(
          /^[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?-0198a3b4-[0-9-]+\.md$/
        )
      })
    )
    expect(exportFileName({ session_id: ID, title: `${'a'.repeat(59)} b` }, 'md')).to.equal(`${'a'.repeat(59)}-${ID}.md`)
  })
})
