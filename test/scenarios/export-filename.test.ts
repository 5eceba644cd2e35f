import { expect } from 'chai'
import { eachDatabase } from '../support/databases.js'
import { rawRequest } from '../support/raw-request.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const titles: (string | null)[] = [
  'a plain title',
  '"; ../',
  '"; filename=evil.exe; x="',
  '../../etc/passwd',
  '..\\..\\evil',
  '..',
  '.',
  '.hidden',
  '',
  ' ',
  null,
  '👩‍👩‍👧‍👦 🚀',
  'שלום مرحبا',
  'gnp\u202eexe.\u2066x',
  '%2e%2e%2f%0d%0aSet-Cookie: a=b',
  "a'b`c$(d)|e;f&g>h<i*j?k:l",
  'x'.repeat(500),
  '長'.repeat(500),
  '-rf'
]

describe('the filename of an export', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    for (const format of ['json', 'md'])
      it(`F6: as ${format} is safe whatever the title is`, async () => {
        for (const title of titles) {
          const session_id = text(await made(alice.rest.post('/sessions', { worktree_id, title })), 'session_id')
          const { status, headers } = await rawRequest(world.url, 'GET', `/sessions/${session_id}/export?format=${format}`, {
            headers: { authorization: `Bearer ${alice.token}` }
          })
          expect([status, headers.get('set-cookie')], JSON.stringify(title)).to.deep.equal([200, null])
          expectSafe(headers.get('content-disposition') ?? '', format)
        }
      })

    it('F6: a title with a line break or half a character is refused when it is set, so it never reaches a header', async () => {
      const session_id = await world.session(alice, worktree_id)
      for (const title of ['a\r\nSet-Cookie: a=b', 'a\nb', 'a\rb', 'a\u2028b', 'a\0b', '\ud800'])
        expect((await alice.rest.patch(`/sessions/${session_id}`, { title })).status).to.equal(400)
    })
  })
})

/** One attachment with one plain name, and besides it at most the same in UTF-8 (RFC 6266), which decodes to no path. */
function expectSafe(disposition: string, format: string): void {
  const found = /^attachment; filename="([^"\\]*)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]*))?$/.exec(disposition)
  expect(found, disposition).not.to.equal(null)
  const names = [found![1]!, ...(found![2] === undefined ? [] : [decodeURIComponent(found![2])])]
  expect(names[0], 'the plain name').to.match(/^[\x20-\x7e]+$/)
  for (const name of names) {
    expect(name.endsWith(`.${format}`), name).to.equal(true)
    expect(Buffer.byteLength(name), name).to.be.within(format.length + 2, 255)
    expect(name, 'no path, no hidden file, nothing that ends the header, no control or direction marks').not.to.match(
      /^[.\s]|\.\.|[/\\";\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/u
    )
  }
}
