import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Knex } from 'knex'
import { client, rowsOf, type Answer, type Body } from '../support/client.js'
import { leftovers, orphans } from '../support/leftovers.js'
import { eachStore, type Store } from '../support/stores.js'
import { buildWorld, inParallel, made, text, type Person, type World } from '../support/world.js'

const ROUNDS = 20
const SESSIONS = 60

describe('a session that is removed in the midst of work', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    let store: Store
    let world: World
    let alice: Person
    let worktree_id: string
    let connection: Knex

    before(async () => {
      store = await kind.make()
      world = await buildWorld((await store.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
      connection = store.connect()
    })

    it(`G8: late reports and messages of its running task are 404 or 401, nothing is left and nothing comes back, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const session_id = await world.session(alice, worktree_id)
        const task_id = await world.task(alice, session_id)
        const executor = client(world.url, await world.taskToken(alice, task_id))
        await made(executor.patch(`/tasks/${task_id}`, { status: 'running' }))
        const message_id = await world.message(alice, session_id)
        const tasks = [task_id]
        const messages = [message_id]
        let count = 0
        const message = () => ({ session_id, role: 'assistant', content: `late ${count++}` })
        const keep = (ids: string[], field: string) => (answer: Answer) => {
          if (answer.status === 201) ids.push(...([answer.body].flat() as Body[]).map((row) => text(row, field)))
          return answer
        }
        const writes: [by: 'alice' | 'token', write: () => Promise<Answer>][] = [
          ['token', () => executor.post('/messages', { ...message(), task_id }).then(keep(messages, 'message_id'))],
          ['token', () => executor.patch(`/tasks/${task_id}`, { usage: { count: count++ } })],
          ['token', () => executor.patch(`/messages/${message_id}`, { content: `edit ${count++}` })],
          ['alice', () => alice.rest.post('/messages', [message(), message()]).then(keep(messages, 'message_id'))],
          ['alice', () => alice.rest.post('/tasks', { session_id, prompt: 'late' }).then(keep(tasks, 'task_id'))],
          ['alice', () => alice.rest.patch(`/tasks/${task_id}`, { because: `late ${count++}` })],
          ['alice', () => alice.rest.patch(`/messages/${message_id}`, { content: `edit ${count++}` })],
          ['alice', () => alice.rest.patch(`/sessions/${session_id}`, { title: `late ${count++}` })],
          ['alice', () => alice.rest.post(`/tasks/${task_id}/token`)]
        ]
        const ends = writes.map(async ([by, write]) => [by, await lastOf(write)] as const)
        for (let wait = 0; wait < round * 3; wait++) await turn()
        expect((await alice.rest.del(`/sessions/${session_id}`)).status).to.equal(200)
        for (const [by, { status, body }] of await Promise.all(ends))
          expect(status, `${by} ${JSON.stringify(body)}`).to.be.oneOf(by === 'alice' ? [404] : [401, 404])
        expect((await executor.patch(`/tasks/${task_id}`, { status: 'completed' })).status).to.equal(401)
        expect(await leftovers(connection, { session_id, task_id: tasks, message_id: messages })).to.deep.equal([])
        expect((await alice.rest.get(`/sessions/${session_id}`)).status).to.equal(404)
        for (const service of ['messages', 'tasks'])
          expect((await alice.rest.get(`/${service}?session_id=${session_id}`)).body['total'] ?? 0).to.equal(0)
      }
      expect(await orphans(connection)).to.deep.equal([])
    })

    it('is never a ghost: what a list shows can be opened, unless its removal was asked for meanwhile', async () => {
      const home = await world.worktree(alice)
      const sessions: string[] = []
      const sessionOf = new Map<string, string>()
      for (let nth = 0; nth < SESSIONS; nth++) {
        const session_id = await world.session(alice, home)
        sessions.push(session_id)
        sessionOf.set(session_id, session_id)
        sessionOf.set(await world.message(alice, session_id), session_id)
        sessionOf.set(await world.task(alice, session_id), session_id)
      }
      const asked = new Set<string>()
      const removed = new Set<string>()
      const doomed = sessions.filter((_, nth) => nth % 3 > 0)
      let opened = 0
      /** Lists one service and opens all that is in it. */
      const look = async (service: string, id: string): Promise<void> => {
        const before = new Set(removed)
        const listed = rowsOf(await alice.rest.get(`/${service}?$limit=200`)).map((row) => text(row, id))
        expect(listed.filter((record) => before.has(sessionOf.get(record)!))).to.deep.equal([])
        for (const record of listed) {
          const { status } = await alice.rest.get(`/${service}/${record}`)
          if (!asked.has(sessionOf.get(record)!)) expect(status, `${service} ${record}`).to.equal(200)
          opened++
        }
      }
      const lookAtAll = async () => {
        await look('sessions', 'session_id')
        await look('messages', 'message_id')
        await look('tasks', 'task_id')
      }
      let done = false
      const looking = (async () => {
        do await lookAtAll()
        while (!done)
      })()
      const removing = inParallel(2, doomed, async (session_id) => {
        asked.add(session_id)
        await made(alice.rest.del(`/sessions/${session_id}`))
        removed.add(session_id)
        for (const service of ['sessions', 'messages', 'tasks'])
          expect((await alice.rest.get(`/${service}?session_id=${session_id}`)).body['total'] ?? 0, service).to.equal(0)
      }).finally(() => (done = true))
      await Promise.all([removing, looking])
      await lookAtAll()
      expect(opened).to.be.above(sessions.length)
      const left = await alice.rest.get(`/sessions?worktree_id=${home}`)
      expect(left.body['total']).to.equal(sessions.length - doomed.length)
    })
  })
})

/** Writes again and again until it is refused, and returns the refusal. */
async function lastOf(write: () => Promise<Answer>): Promise<Answer> {
  for (let writes = 0; writes < 1_000; writes++) {
    const answer = await write()
    if (answer.status >= 300) return answer
  }
  throw new Error('it was never refused')
}
