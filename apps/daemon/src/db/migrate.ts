import { setTimeout as sleep } from 'node:timers/promises'
import knex, { type Knex } from 'knex'
import { isPostgres } from './database-url.js'
import { migrations } from './migrations/index.js'

export interface Migration {
  name: string
  up(knex: Knex): Promise<void>
}

/**
 * Brings a database to this code's schema, in one transaction that starts with a lock: daemons that start together on an
 * empty database wait for each other, and the second finds the work done. A database that knows a migration which this
 * code does not is newer, and is left alone.
 */
export async function migrate(url: string, list: readonly Migration[] = migrations): Promise<string[]> {
  const db = knex(configFor(url))
  try {
    await begin(db)
    try {
      const done = await appliedMigrations(db)
      refuseNewer(done, list)
      const pending = list.filter(({ name }) => !done.includes(name))
      for (const migration of pending) {
        await migration.up(db)
        await db('stoa_migrations').insert({ name: migration.name, applied_at: new Date().toISOString() })
      }
      await db.raw('COMMIT')
      return pending.map(({ name }) => name)
    } catch (error) {
      await db.raw('ROLLBACK')
      throw error
    }
  } finally {
    await db.destroy()
  }
}

/** A pool of one: BEGIN, the migrations and COMMIT are all on the same connection. */
function configFor(url: string): Knex.Config {
  const base = { pool: { min: 1, max: 1 }, compileSqlOnError: false }
  return isPostgres(url)
    ? { ...base, client: 'pg', connection: { connectionString: url } }
    : { ...base, client: 'sqlite3', connection: { filename: url }, useNullAsDefault: true }
}

async function begin(db: Knex): Promise<void> {
  if (db.client.config.client === 'pg') {
    await db.raw('BEGIN')
    await db.raw(`SELECT pg_advisory_xact_lock(hashtext('stoa_migrations'))`)
  } else {
    await db.raw('PRAGMA busy_timeout = 30000')
    await switchToWal(db)
    await db.raw('BEGIN IMMEDIATE')
  }
}

/** The one statement that SQLite refuses at once, whatever the busy timeout, while another daemon does the same. */
async function switchToWal(db: Knex): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await db.raw('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_BUSY' || attempt === 200) throw error
      await sleep(20)
    }
  }
}

async function appliedMigrations(db: Knex): Promise<string[]> {
  await db.raw('CREATE TABLE IF NOT EXISTS stoa_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)')
  return db('stoa_migrations').orderBy('name').pluck('name')
}

function refuseNewer(done: string[], list: readonly Migration[]): void {
  const unknown = done.find((name) => !list.some((migration) => migration.name === name))
  if (unknown)
    throw new Error(`the database is newer than this daemon (it has ${unknown}): start the newer version, or restore a backup`)
}
