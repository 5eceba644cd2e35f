import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoaError } from '@stoa/core/errors'
import type { JournalEntry } from '@stoa/core/journal/entry'
import type { Database, Step, Unit } from '@stoa/daemon/db/database'
import { migrate, type Migration } from '@stoa/daemon/db/migrate'
import { migrations } from '@stoa/daemon/db/migrations/index'
import { SqliteConnection } from '@stoa/daemon/db/sqlite/connection'
import { openSqlite } from '@stoa/daemon/db/sqlite/open'
import { expect } from 'chai'
import fc from 'fast-check'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { applyToModel, commands, newModel, type Command } from './group-writer-model.js'

describe('units of SQLite that share a transaction', () => {
  let home: string
  let db: Database
  let worlds = 0

  before(async () => {
    home = await makeDirectory()
    const url = join(home, 'units.db')
    const up: Migration['up'] = async (knex) =>
      knex.raw('CREATE TABLE counters (id TEXT PRIMARY KEY, version INTEGER NOT NULL DEFAULT 1)')
    await migrate(url, [...migrations, { name: '9999_add_counters', up }])
    db = await openSqlite(url)
  })

  after(async () => {
    await db.close()
    await removeDirectory(home)
  })

  /** Some units at once, on counters of their own; they meet in one group. */
  const together = async (list: Command[]) => {
    const world = await newWorld()
    return world.outcome(await Promise.all(list.map((command, index) => world.run(command, index))))
  }

  const newWorld = async () => {
    const name = `w${(worlds += 1)}`
    await db.commit({ steps: [insert(`${name}-right`)], entries: [] })
    return {
      run: async (command: Command, index: number): Promise<number | string | null> => {
        try {
          const rows = await db.commit(unitOf(name, command, index))
          return rows === null ? null : ((rows[0]?.['version'] as number | undefined) ?? 'recorded')
        } catch (error) {
          if (error instanceof StoaError) return error.code
          throw error
        }
      },
      outcome: async (answers: (number | string | null)[]) => {
        const counters = await db.read(`SELECT id, version FROM counters WHERE id LIKE '${name}-%' ORDER BY id`, [])
        const journal = await db.read('SELECT resource_id, version FROM journal WHERE session_id = ? ORDER BY seq', [name])
        return {
          answers,
          counters: Object.fromEntries(counters.map(({ id, version }) => [String(id).slice(name.length + 1), version])),
          journal: journal.map(({ resource_id, version }) => [Number(resource_id), version])
        }
      }
    }
  }

  it('a unit that breaks a constraint is refused alone; the others of its group are written', async () => {
    expect(
      await together([
        { do: 'create', id: 'a' },
        { do: 'create', id: 'a' },
        { do: 'create', id: 'b' }
      ])
    ).to.deep.equal({
      answers: [1, 'duplicate', 1],
      counters: { a: 1, b: 1, right: 1 },
      journal: [
        [0, 1],
        [2, 1]
      ]
    })
  })

  it('a unit that holds in part leaves nothing, and the others of its group are written', async () => {
    expect(
      await together([
        { do: 'create', id: 'a' },
        { do: 'bumpBoth', id: 'a', other: 'missing', right: 1 },
        { do: 'bump', id: 'a', right: 1 }
      ])
    ).to.deep.equal({
      answers: [1, null, 2],
      counters: { a: 2, right: 1 },
      journal: [
        [0, 1],
        [2, 2]
      ]
    })
  })

  it('a unit that does not hold leaves nothing of its bookkeeping either', async () => {
    expect(
      await together([{ do: 'create', id: 'a' }, { do: 'bookThenBump', id: 'a', other: 'missing', right: 1 }, { do: 'note' }])
    ).to.deep.equal({
      answers: [1, null, 'recorded'],
      counters: { a: 1, right: 1 },
      journal: [
        [0, 1],
        [2, null]
      ]
    })
  })

  it('a write behind a revocation in the same group does not hold; one before it does', async () => {
    const bump: Command = { do: 'bump', id: 'a', right: 1 }
    expect(await together([{ do: 'create', id: 'a' }, bump, { do: 'revoke' }, bump, { ...bump, right: 2 }])).to.deep.equal({
      answers: [1, 2, 2, null, 3],
      counters: { a: 3, right: 2 },
      journal: [
        [0, 1],
        [1, 2],
        [2, 2],
        [4, 3]
      ]
    })
  })

  it('more units than a group holds are all written, in the order they came, each entry with the version of its row', async () => {
    const bumps = Array.from({ length: 600 }, (): Command => ({ do: 'bump', id: 'a', right: 1 }))
    const { answers, journal } = await together([{ do: 'create', id: 'a' }, ...bumps])
    expect(answers).to.deep.equal(Array.from({ length: 601 }, (_, index) => index + 1))
    expect(journal).to.deep.equal(Array.from({ length: 601 }, (_, index) => [index, index + 1]))
  })

  it('whatever comes together, the answers, the rows and the journal are those of one unit after the other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(commands, fc.boolean()), { maxLength: 25 }), async (list) => {
        const world = await newWorld()
        const answers: Promise<number | string | null>[] = []
        for (const [index, [command, waits]] of list.entries()) {
          if (waits) await nextTurn()
          answers.push(world.run(command, index))
        }
        const model = newModel()
        const expected = list.map(([command], index) => applyToModel(model, command, index))
        expect(await world.outcome(await Promise.all(answers))).to.deep.equal({ answers: expected, ...model })
      }),
      { numRuns: 150 }
    )
  })

  it('an entry that could not be written, because the file was locked, does not hurt the unit after it', async () => {
    const world = await newWorld()
    const other = await SqliteConnection.open(join(home, 'units.db'), [])
    await other.exec('BEGIN EXCLUSIVE')
    const refused = await world.run({ do: 'note' }, 0)
    await other.exec('ROLLBACK')
    await other.close()
    // A unit without entries: it uses none of the statements of the one that failed.
    const rows = await db.commit({ steps: [insert(`locked-${worlds}`)], entries: [] }).catch((error: StoaError) => error.cause)
    expect([refused, rows]).to.deep.equal(['unavailable', [{ version: 1 }]])
    expect(await world.outcome([])).to.deep.include({ journal: [] })
  })
})

function unitOf(world: string, command: Command, index: number): Unit {
  return { steps: stepsOf(world, command), entries: [entry(world, index)] }
}

function stepsOf(world: string, command: Command): Step[] {
  const bump = (id: string, right: number): Step => ({
    sql: `UPDATE counters SET version = version + 1
      WHERE id = ? AND EXISTS (SELECT 1 FROM counters r WHERE r.id = ? AND r.version = ?) RETURNING version`,
    params: [`${world}-${id}`, `${world}-right`, right]
  })
  switch (command.do) {
    case 'create':
      return [insert(`${world}-${command.id}`)]
    case 'bump':
      return [bump(command.id, command.right)]
    case 'bumpBoth':
      return [bump(command.id, command.right), bump(command.other, command.right)]
    case 'bookThenBump':
      return [{ ...bump(command.id, command.right), optional: true }, bump(command.other, command.right)]
    case 'bumpThenCreate':
      return [bump(command.id, command.right), insert(`${world}-${command.other}`)]
    case 'revoke':
      return [{ sql: 'UPDATE counters SET version = version + 1 WHERE id = ? RETURNING version', params: [`${world}-right`] }]
    case 'note':
      return []
  }
}

function insert(id: string): Step {
  return { sql: 'INSERT INTO counters (id) VALUES (?) RETURNING version', params: [id] }
}

function entry(world: string, index: number): JournalEntry {
  const none = {
    actor_id: null,
    actor: null,
    credential: null,
    worktree_id: null,
    claimed: null,
    actual: null,
    basis: null,
    effect: null,
    version: null
  }
  const what = {
    kind: 'decision',
    decision: 'allow',
    reason_code: 'allowed',
    reason: 'test',
    action: 'tests.run',
    service: 'tests',
    method: 'run',
    transport: 'internal',
    resource_type: 'daemon'
  } as const
  return {
    ...none,
    ...what,
    id: `${world}:${index}`,
    ts: new Date().toISOString(),
    resource_id: String(index),
    session_id: world,
    spoofed: false,
    trace: [],
    request: { request_id: 'none', ip: null }
  }
}
