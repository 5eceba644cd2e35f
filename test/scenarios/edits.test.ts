import { expect } from 'chai'
import { codeOf, rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const AT_ONCE = 20
const ROUNDS = 20

/** Each of them is one revision. */
const contents: unknown[] = [
  'the first',
  '',
  null,
  [
    { type: 'text', text: 'a block' },
    { type: 'from the future', '': 0, b: 1, a: [null, { z: 1.5 }] }
  ],
  '[{"type":"text","text":"a string"}]',
  ' \t\r\n 👩‍👩‍👧‍👦 שלום \u202e\u2066 e\u0301 é \ufffe \ud800 ',
  [],
  'x'.repeat(100_000),
  'the first'
]

describe('the history of a message', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let bob: Person
    let session_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      ;[alice, bob] = [await world.user('alice'), await world.user('bob')]
    })

    beforeEach(async () => {
      const worktree_id = await world.worktree(alice)
      await world.grant(alice, worktree_id, bob, 'all')
      session_id = await world.session(alice, worktree_id)
    })

    const message = (message_id: string) => made(alice.rest.get(`/messages/${message_id}`))
    const revisions = async (message_id: string, reader = alice) =>
      rowsOf(await reader.rest.get(`/messages/${message_id}/revisions`))
    const transcript = async () => rowsOf(await alice.rest.get(`/messages?session_id=${session_id}`))
    /** Three messages; the second is the one that things happen to. */
    const three = async () => {
      const ids = []
      for (const content of ['before', 'the first', 'after']) ids.push(await world.message(alice, session_id, content))
      return ids as [string, string, string]
    }

    it('E13: an edit keeps what was there before: every revision byte for byte, in order, with who and when', async () => {
      const [, message_id] = await three()
      const first = await message(message_id)
      const stamps: [unknown, unknown][] = [[first['created_by'], first['created_at']]]
      const doors = [...(await open(world.url, alice.token)), ...(await open(world.url, bob.token))]
      for (const [nth, content] of contents.entries()) {
        if (nth === 0) continue
        const editor = nth % doors.length
        const edited = await made(doors[editor]!.call('messages', 'patch', message_id, { content }))
        const { revision, edited_by, edited_at, created_by, created_at, seq } = edited
        expect([revision, edited_by, created_by, created_at, seq]).to.deep.equal([
          nth + 1,
          (editor < 2 ? alice : bob).user_id,
          first['created_by'],
          first['created_at'],
          2
        ])
        stamps.push([edited_by, edited_at])
      }
      for (const reader of [alice, bob]) {
        const history = await revisions(message_id, reader)
        expect(history.map(({ revision }) => revision)).to.deep.equal(contents.map((_, nth) => nth + 1))
        expect(history.map(({ content }) => JSON.stringify(content))).to.deep.equal(contents.map((c) => JSON.stringify(c)))
        expect(history.map(({ created_by, created_at }) => [created_by, created_at])).to.deep.equal(stamps)
      }
      expect(stamps.map(([, at]) => at)).to.deep.equal([...stamps.map(([, at]) => String(at))].sort())
      expect(await message(message_id)).to.include({ revision: contents.length, content: contents.at(-1) })
    })

    it('E13: new metadata is no revision, and a refused edit leaves none', async () => {
      const [, message_id] = await three()
      const { revision, edited_at, content } = await made(alice.rest.patch(`/messages/${message_id}`, { metadata: { a: 1 } }))
      expect([revision, edited_at, content]).to.deep.equal([1, null, 'the first'])
      for (const refused of [{ content: 5 }, { content: 'x', seq: 9 }, { content: 'x', revision: 7 }, { content: 'a\0' }])
        expect((await alice.rest.patch(`/messages/${message_id}`, refused)).status).to.equal(400)
      const [, one] = await transcript()
      expect([one!['content'], one!['revision'], (await revisions(message_id)).length]).to.deep.equal(['the first', 1, 1])
    })

    it(`${AT_ONCE} edits at once are all kept, as the revisions 2 to ${AT_ONCE + 1}, each with its own text and author`, async () => {
      const [, message_id] = await three()
      const neighbours = (await transcript()).filter(({ seq }) => seq !== 2)
      const doors = [...(await open(world.url, alice.token)), ...(await open(world.url, bob.token))]
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, nth) =>
          made(doors[nth % doors.length]!.call('messages', 'patch', message_id, { content: `edit ${nth}` }))
        )
      )
      const told = answers.map(({ revision, content, edited_by, edited_at }) => [revision, content, edited_by, edited_at])
      const history = await revisions(message_id)
      expect(history.map(({ revision }) => revision)).to.deep.equal(Array.from({ length: AT_ONCE + 1 }, (_, nth) => nth + 1))
      const kept = history.map(({ revision, content, created_by, created_at }) => [revision, content, created_by, created_at])
      expect(kept.slice(1)).to.deep.equal(told.sort(([a], [b]) => Number(a) - Number(b)))
      expect(new Set(answers.map(({ content }) => content)).size).to.equal(AT_ONCE)
      const now = await message(message_id)
      expect([now['revision'], now['content'], now['seq']]).to.deep.equal([AT_ONCE + 1, history.at(-1)!['content'], 2])
      expect((await transcript()).filter(({ seq }) => seq !== 2)).to.deep.equal(neighbours)
    })

    it(`of two edits with the same If-Match exactly one wins and makes one revision, ${ROUNDS} times`, async () => {
      const [, message_id] = await three()
      const neighbours = (await transcript()).filter(({ seq }) => seq !== 2)
      for (let round = 0; round < ROUNDS; round++) {
        const { version } = await message(message_id)
        const headers = { 'if-match': `"${String(version)}"` }
        const edit = (who: Person) => who.rest.patch(`/messages/${message_id}`, { content: `${who.name} ${round}` }, headers)
        const answers = await Promise.all(round % 2 ? [edit(alice), edit(bob)] : [edit(bob), edit(alice)])
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 412])
        expect(codeOf(answers.find(({ status }) => status === 412)!)).to.equal('version_conflict')
        const history: Body[] = await revisions(message_id)
        expect(history).to.have.lengthOf(round + 2)
        const { content } = answers.find(({ status }) => status === 200)!.body
        expect([history.at(-1)!['content'], text(await message(message_id), 'content')]).to.deep.equal([content, content])
      }
      expect((await transcript()).filter(({ seq }) => seq !== 2)).to.deep.equal(neighbours)
    })
  })
})
