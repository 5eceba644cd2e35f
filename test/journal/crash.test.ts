import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Knex } from 'knex'
import { client, type Answer, type Body, type Client } from '../support/client.js'
import { chosenSeed, randomness } from '../support/randomness.js'
import { eachStore, rows, type Store } from '../support/stores.js'
import { buildWorld, type Person } from '../support/world.js'

const KILLS = 10
const WRITERS = 8

describe('a daemon that is killed under load', function () {
  this.timeout(180_000)

  eachStore((kind) => {
    const seed = chosenSeed()
    const random = randomness(seed)
    const answered: Written[] = []
    let store: Store
    let connection: Knex

    before(async () => {
      console.log(`      the same load again: SEED=${seed}`)
      store = await kind.make()
      const daemon = await store.start()
      const world = await buildWorld(daemon.url)
      const alice = await world.user('alice')
      const worktree_id = await world.worktree(alice)
      const sessions = [await world.session(alice, worktree_id), await world.session(alice, worktree_id)]
      await daemon.kill()
      for (let kill = 1; kill <= KILLS; kill += 1) await loadAndKill(alice, worktree_id, sessions)
      connection = store.connect()
    })

    /** Some writers, each with its own records, and a kill -9 in the midst of them. */
    async function loadAndKill(alice: Person, worktree_id: string, sessions: string[]): Promise<void> {
      const daemon = await store.start()
      const rest = client(daemon.url, alice.token)
      const before = answered.length
      const writers = Array.from({ length: WRITERS }, () => write(rest, { worktree_id, sessions }, random, answered))
      // Not before something was written, or a slow machine would see ten kills of an idle daemon; and the first time not
      // before some writer got as far as its messages, which come after five other writes at most.
      while (answered.length < before + WRITERS * (before === 0 ? 6 : 1)) await sleep(1)
      await sleep(Math.floor(random() * 250))
      await daemon.kill()
      await Promise.all(writers)
    }

    for (const table of ['sessions', 'tasks', 'messages'] as const) {
      it(`J9: of ${table}, each version of each row has exactly one allow row, and no allow row is without its change`, async () => {
        const [change, id] = [await changesIn(connection, table), `${table.slice(0, -1)}_id`]
        const versions = new Map(
          (await rows(connection, `SELECT ${id} AS id, version FROM ${table}`)).map((row) => [
            String(row['id']),
            Number(row['version'])
          ])
        )
        const wrong = [...new Set([...versions.keys(), ...change.keys()])].flatMap((record) => {
          const recorded = change.get(record) ?? []
          const version = versions.get(record) ?? null
          return explain(recorded, version) === recorded.join(' ') ? [] : [{ record, version, recorded }]
        })
        expect(versions.size, `no ${table} were made`).to.be.greaterThan(0)
        expect(wrong).to.deep.equal([])
      })
    }

    it('J9: every write that was answered is there, with its row in the journal', async () => {
      const changes = new Map([
        ...(await changesIn(connection, 'sessions')),
        ...(await changesIn(connection, 'tasks')),
        ...(await changesIn(connection, 'messages'))
      ])
      const lost = answered.filter(({ id, change, version }) => !changes.get(id)?.includes(`${change}:${version}`))
      expect(answered.length).to.be.greaterThan(KILLS * WRITERS - 1)
      expect(lost).to.deep.equal([])
    })

    it('J9: no list was written in part, no number is missing or given twice, and the counters are those of the rows', async () => {
      const wrong = await rows(
        connection,
        `SELECT s.session_id FROM sessions s LEFT JOIN messages m ON m.session_id = s.session_id GROUP BY s.session_id, s.last_seq, s.message_count
         HAVING s.last_seq <> COUNT(m.seq) OR s.last_seq <> COALESCE(MAX(m.seq), 0) OR COUNT(DISTINCT m.seq) <> COUNT(m.seq)
           OR s.message_count <> COUNT(m.seq) - COUNT(m.deleted_at)`
      )
      expect(wrong).to.deep.equal([])
      const halves = await rows(
        connection,
        `SELECT metadata FROM messages WHERE metadata IS NOT NULL GROUP BY metadata HAVING COUNT(*) <> 3`
      )
      expect(halves).to.deep.equal([])
    })
  })
})

interface Written {
  id: string
  change: 'created' | 'patched' | 'removed'
  version: number
}

/** Writes until the daemon is gone, and notes what it was answered. */
async function write(
  rest: Client,
  { worktree_id, sessions }: { worktree_id: string; sessions: string[] },
  random: () => number,
  answered: Written[]
): Promise<void> {
  const session_id = sessions[Math.floor(random() * sessions.length)]!
  const message = (content: string, more: Body = {}) => ({ session_id, role: 'user', content, ...more })
  const note = async (change: Written['change'], call: Promise<Answer>): Promise<string> => {
    const { status, body } = await call
    const records = Array.isArray(body) ? (body as Body[]) : [body]
    if (status > 201) throw new Error(`${change}: ${status} ${JSON.stringify(body)}`)
    for (const record of records) answered.push({ id: idOf(record), change, version: record['version'] as number })
    return idOf(records[0]!)
  }
  try {
    for (;;) {
      const made = await note('created', rest.post('/sessions', { worktree_id, title: 'made under load' }))
      const settings = () => ({ [`k${Math.floor(random() * 9)}`]: random() })
      await note('patched', rest.patch(`/sessions/${random() < 0.5 ? made : session_id}`, { settings: settings() }))
      const task = await note('created', rest.post('/tasks', { session_id: made, prompt: 'under load' }))
      if (random() < 0.3) await note('removed', rest.del(`/tasks/${task}`))
      else for (const status of ['running', 'completed']) await note('patched', rest.patch(`/tasks/${task}`, { status }))
      const one = await note('created', rest.post('/messages', message('one')))
      await note('patched', rest.patch(`/messages/${one}`, { content: 'edited' }))
      if (random() < 0.3) await note('removed', rest.del(`/messages/${one}`))
      const metadata = { list: `${random()}` }
      await note(
        'created',
        rest.post(
          '/messages',
          ['a', 'b', 'c'].map((content) => message(content, { metadata }))
        )
      )
    }
  } catch (error) {
    // The daemon was killed: whether the last write is there is open, and both are right.
    if (!(error instanceof TypeError)) throw error
  }
}

function idOf(record: Body): string {
  return String(record['message_id'] ?? record['task_id'] ?? record['session_id'])
}

/** By record, what the journal says was done to it, as `created:1`, in the order in which it was written. */
async function changesIn(connection: Knex, table: string): Promise<Map<string, string[]>> {
  const changes = new Map<string, string[]>()
  const allowed = `SELECT resource_id, effect, version FROM journal WHERE service = ? AND decision = 'allow' ORDER BY seq`
  const found = await rows(connection, allowed, [table])
  for (const { resource_id, effect, version } of found) {
    const { change } = JSON.parse(String(effect)) as { change: string }
    if (change === 'read' || change === 'listed') continue
    changes.set(String(resource_id), [...(changes.get(String(resource_id)) ?? []), `${change}:${version}`])
  }
  return changes
}

/** What the journal has to say about a record with this version, or about one that is gone. */
function explain(recorded: string[], version: number | null): string {
  const last = recorded.at(-1) ?? ''
  const removed = last.startsWith('removed:')
  // A message leaves a tombstone, whose version its removal has raised; a task leaves nothing, and names the last that it had.
  const writes = version === null ? Number(last.split(':')[1]) : removed ? version - 1 : version
  if (version === null && !removed) return 'a removal'
  const patches = Array.from({ length: writes - 1 }, (_, index) => `patched:${index + 2}`)
  return ['created:1', ...patches, ...(removed ? [`removed:${version ?? writes}`] : [])].join(' ')
}
