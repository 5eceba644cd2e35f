import { expect } from 'chai'
import { codeOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, withoutIds } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { allMessages, appendList, essence, exportOf, markOf, nthMessage } from './export-scene.js'

const MESSAGES = 10_000
const LIST = 500

describe('the export of a session', function () {
  this.timeout(180_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = async (title: string | null) =>
      text(await made(alice.rest.post('/sessions', { worktree_id, title })), 'session_id')

    describe(`of ${MESSAGES} messages`, () => {
      let session_id: string
      let stored: Body[]

      before(async () => {
        session_id = await session('a long session')
        for (let nth = 0; nth < MESSAGES; nth += LIST)
          await appendList(
            alice,
            Array.from({ length: LIST }, (_, index) => nthMessage(session_id, nth + index))
          )
        stored = await allMessages(alice, session_id)
        expect(stored).to.have.lengthOf(MESSAGES)
      })

      it('F6: as JSON it has the session and every message as it is stored, by seq', async () => {
        const { status, text: told, media_type } = await exportOf(world.url, alice, session_id, 'json')
        expect([status, media_type.split(';')[0]]).to.deep.equal([200, 'application/json'])
        const { format, exported_at, session: record, messages } = JSON.parse(told) as Body & { messages: Body[] }
        expect(format).to.equal('stoa.session/1')
        expect(new Date(String(exported_at)).toISOString()).to.equal(exported_at)
        expect(record).to.include({ session_id, title: 'a long session', message_count: MESSAGES })
        expect(messages).to.have.lengthOf(MESSAGES)
        expectSame(messages, stored)
      })

      it('F6: as text it has all that was said, in order', async () => {
        const { status, text: told, media_type } = await exportOf(world.url, alice, session_id, 'md')
        expect([status, media_type.split(';')[0]]).to.deep.equal([200, 'text/markdown'])
        expect(told).to.include('a long session')
        const said = stored.map((_, nth) => nth).filter((nth) => nth % 6 !== 2)
        const found = [...told.matchAll(/mark(\d{6})/g)].map(([mark]) => mark)
        expect([...new Set(found)]).to.deep.equal(said.map(markOf))
      })
    })

    it('F6: without a format it is JSON; any other format is 400', async () => {
      const session_id = await session('short')
      const plain = await exportOf(world.url, alice, session_id)
      expect([plain.status, plain.media_type.split(';')[0]]).to.deep.equal([200, 'application/json'])
      for (const format of ['xml', 'html', '', 'JSON', '../md'])
        expect((await exportOf(world.url, alice, session_id, format)).status, format).to.equal(400)
      const answer = await alice.rest.get(`/sessions/${session_id}/export?format=xml`)
      expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
    })

    it('F6: it has no removed message, and of an edited one what it says now', async () => {
      const session_id = await session('edited')
      await appendList(
        alice,
        Array.from({ length: 6 }, (_, nth) => nthMessage(session_id, nth))
      )
      const [first, second] = (await allMessages(alice, session_id)).map((row) => text(row, 'message_id'))
      await made(alice.rest.del(`/messages/${first!}`))
      await made(alice.rest.patch(`/messages/${second!}`, { content: 'edited since' }))
      const { messages } = JSON.parse((await exportOf(world.url, alice, session_id, 'json')).text) as { messages: Body[] }
      expectSame(messages, await allMessages(alice, session_id))
      expect(messages.map(({ seq }) => seq)).to.deep.equal([2, 3, 4, 5, 6])
      const { text: told } = await exportOf(world.url, alice, session_id, 'md')
      expect([told.includes(markOf(0)), told.includes(markOf(1)), told.includes('edited since')]).to.deep.equal([
        false,
        false,
        true
      ])
    })

    it('F6: while messages are appended it is well-formed, and has the first of them without a gap', async () => {
      const session_id = await session('growing')
      const batch = (nth: number) => Array.from({ length: 100 }, (_, index) => nthMessage(session_id, nth * 100 + index))
      for (let nth = 0; nth < 10; nth++) await appendList(alice, batch(nth))
      let written = 10
      let done = false
      const appending = (async () => {
        for (; !done; written++) await appendList(alice, batch(written))
      })()
      const exporting = (async () => {
        for (let round = 0; round < 5; round++) {
          const atLeast = written * 100
          const { status, text: told } = await exportOf(world.url, alice, session_id, 'json')
          const { messages } = JSON.parse(told) as { messages: Body[] }
          expect([status, messages.length >= atLeast]).to.deep.equal([200, true])
          expect(messages.map(({ seq }) => seq)).to.deep.equal(messages.map((_, nth) => nth + 1))
        }
      })().finally(() => (done = true))
      await Promise.all([exporting, appending])
    })

    it('over a socket it is the same text with its name and type; what one cannot see is 404 like what is not there', async () => {
      const session_id = await session('over a socket')
      await appendList(
        alice,
        Array.from({ length: 6 }, (_, nth) => nthMessage(session_id, nth))
      )
      const [, socket] = await open(world.url, alice.token)
      const withoutTime = (told: string) => told.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')
      for (const format of ['json', 'md']) {
        const rest = await exportOf(world.url, alice, session_id, format)
        const told = await made(socket!.call(`sessions/${session_id}/export`, 'find', { query: { format } }))
        expect(withoutTime(text(told, 'content'))).to.equal(withoutTime(rest.text))
        expect(text(told, 'filename')).to.match(format === 'md' ? /^[^/\\]+\.md$/ : /^[^/\\]+\.json$/)
        expect(rest.media_type.startsWith(text(told, 'media_type').split(';')[0]!)).to.equal(true)
        expect(rest.disposition).to.include(text(told, 'filename'))
      }
      const bob = await world.user('bob')
      for (const door of await open(world.url, bob.token)) {
        const answers = [session_id, absentId()].map((id) => door.call(`sessions/${id}/export`, 'find', { query: {} }))
        const [answer, absent] = await Promise.all(answers)
        expect([answer!.status, withoutIds(answer!)]).to.deep.equal([404, withoutIds(absent!)])
      }
    })
  })
})

function expectSame(exported: Body[], stored: Body[]): void {
  const wrong = stored.filter((row, nth) => essence(exported[nth] ?? {}) !== essence(row))
  expect([exported.length, wrong.slice(0, 3)]).to.deep.equal([stored.length, []])
}
