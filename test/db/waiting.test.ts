import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { client, type Client } from '../support/client.js'
import { eachStore, rows, type Store } from '../support/stores.js'
import { buildWorld, made, text, type World } from '../support/world.js'

const ROUNDS = 10
const WRITERS = 3

type Write = (executor: Client, place: { session_id: string; task_id: string; message_id: string }) => Promise<{ status: number }>

const writes: Record<string, Write> = {
  'appending messages': (executor, { session_id, task_id }) =>
    executor.post('/messages', { session_id, task_id, role: 'assistant', content: 'on it' }),
  'editing a message': (executor, { message_id }) =>
    executor.patch(`/messages/${message_id}`, { content: `at ${Math.random()}` }),
  'reporting usage': (executor, { task_id }) => executor.patch(`/tasks/${task_id}`, { usage: { tokens: 1 } })
}

describe('a session that is removed while an executor writes', () => {
  eachStore((kind) => {
    // SQLite has one writer: there nobody can hold what another waits for.
    if (kind.name === 'SQLite') return
    let store: Store
    let world: World

    before(async () => {
      store = await kind.make()
      world = await buildWorld((await store.start()).url)
    })

    for (const [what, write] of Object.entries(writes)) {
      it(`${what}: neither waits for the other until the database ends one of them, ${ROUNDS} times`, async () => {
        const alice = await world.user(what.replaceAll(' ', '-'))
        const worktree_id = await world.worktree(alice)
        for (let round = 1; round <= ROUNDS; round += 1) {
          const session_id = await world.session(alice, worktree_id)
          const task_id = await world.task(alice, session_id)
          const place = { session_id, task_id, message_id: await world.message(alice, session_id) }
          const executor = client(world.url, await world.taskToken(alice, task_id))
          await made(executor.patch(`/tasks/${task_id}`, { status: 'running' }))
          const writers = Array.from({ length: WRITERS }, async () => {
            while ((await write(executor, place)).status < 300);
          })
          await sleep(20)
          expect(text(await made(alice.rest.del(`/sessions/${session_id}`)), 'session_id')).to.equal(session_id)
          await Promise.all(writers)
        }
        expect(await deadlocksIn(store.connect())).to.equal(0)
      })
    }
  })
})

/** The server counts them when it has a moment. */
async function deadlocksIn(connection: Parameters<typeof rows>[0]): Promise<number> {
  await sleep(1200)
  const [row] = await rows(connection, 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
  return Number(row!['deadlocks'])
}
