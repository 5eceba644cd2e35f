import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Knex } from 'knex'
import { client, codeOf, rowsOf, type Answer } from '../support/client.js'
import { eachStore, rows, type Store, type StoreKind } from '../support/stores.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

describe('a journal that cannot be written', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    let store: Store
    let world: World
    let alice: Person
    let bob: Person
    let session_id: string
    let task_id: string

    before(async () => {
      store = await kind.make()
      world = await buildWorld((await store.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
      session_id = await world.session(alice, await world.worktree(alice, 'view'))
      task_id = await world.task(alice, session_id)
    })

    /** One of each kind: what an allowed read, an allowed write and a refusal are answered, all at once. */
    const ask = (): Promise<Answer[]> =>
      Promise.all(
        [
          alice.rest.get(`/tasks/${task_id}`),
          alice.rest.get(`/tasks?session_id=${session_id}`),
          alice.rest.patch(`/sessions/${session_id}`, { title: 'changed' }),
          alice.rest.post('/messages', { session_id, role: 'user', content: 'written' }),
          alice.rest.post('/messages', [
            { session_id, role: 'user', content: 'one' },
            { session_id, role: 'user', content: 'two' }
          ]),
          alice.rest.post('/worktrees', { name: 'another' }),
          bob.rest.patch(`/tasks/${task_id}`, { status: 'running' }),
          bob.rest.get(`/grants/${task_id}`),
          client(world.url).get(`/tasks/${task_id}`),
          client(world.url).post('/authentication', { strategy: 'local', email: alice.email, password: alice.password })
        ].map(answered)
      )

    const whileAway = [503, 503, 503, 503, 503, 503, 503, 503, 503, 503]
    const afterwards = [200, 200, 200, 201, 201, 201, 403, 404, 401, 201]

    /** What is stored, without the journal. */
    const stored = async (connection: Knex) => ({
      sessions: await rows(connection, 'SELECT session_id, title, version, last_seq, message_count FROM sessions'),
      messages: await rows(connection, 'SELECT message_id FROM messages'),
      worktrees: await rows(connection, 'SELECT worktree_id FROM worktrees'),
      grants: await rows(connection, 'SELECT grant_id FROM grants'),
      credentials: await rows(connection, 'SELECT credential_id FROM credentials')
    })

    const expectNothingDone = async (connection: Knex, obstacle: { raise(): Promise<unknown>; lower(): Promise<unknown> }) => {
      const before = await stored(connection)
      const [last] = await rows(connection, 'SELECT max(seq) AS seq FROM journal')
      await obstacle.raise()
      const answers = await ask().finally(() => obstacle.lower())
      expect(answers.map(({ status }) => status)).to.deep.equal(whileAway)
      expect(new Set(answers.map(codeOf))).to.deep.equal(new Set(['unavailable']))
      expect(await stored(connection)).to.deep.equal(before)
      expect(await rows(connection, 'SELECT seq FROM journal WHERE seq > ?', [Number(last!['seq'])])).to.deep.equal([])
    }

    const expectRecovered = async () => {
      expect((await ask()).map(({ status }) => status)).to.deep.equal(afterwards)
      const messages = rowsOf(await alice.rest.get(`/messages?session_id=${session_id}`))
      const { last_seq, message_count } = await made(alice.rest.get(`/sessions/${session_id}`))
      expect(messages.map(({ seq }) => seq)).to.deep.equal(messages.map((_, index) => index + 1))
      expect([last_seq, message_count]).to.deep.equal([messages.length, messages.length])
    }

    it('J8: the table is gone: a read, a write and a refusal answer 503, nothing has changed, and all work again once it is back', async () => {
      const connection = store.connect()
      await expectNothingDone(connection, {
        raise: () => connection.raw('ALTER TABLE journal RENAME TO journal_away'),
        lower: () => connection.raw('ALTER TABLE journal_away RENAME TO journal')
      })
      await expectRecovered()
    })

    it('J8: somebody holds a lock on it: a read, a write and a refusal answer 503 and do not hang, nothing has changed, and all work again', async () => {
      const connection = store.connect()
      await expectNothingDone(connection, { raise: () => takeLock(kind, connection), lower: () => connection.raw('ROLLBACK') })
      await expectRecovered()
    })
  })
})

/** Longer than any wait of the daemon; a request that takes longer hangs. */
const HANGS_MS = 25_000

async function answered(request: Promise<Answer>): Promise<Answer> {
  const hangs = new AbortController()
  const answer = await Promise.race([request, sleep(HANGS_MS, null, { signal: hangs.signal }).catch(() => null)])
  hangs.abort()
  // Its answer, if there ever is one, is nobody's concern any more.
  request.catch(() => undefined)
  return answer ?? { status: 0, body: { data: { code: 'no answer' } }, headers: new Headers() }
}

async function takeLock({ name }: StoreKind, connection: Knex): Promise<void> {
  if (name === 'SQLite') {
    await connection.raw('BEGIN EXCLUSIVE')
    return
  }
  await connection.raw('BEGIN')
  await connection.raw('LOCK TABLE journal IN EXCLUSIVE MODE')
}
