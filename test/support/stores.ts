import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { startDaemon, type Daemon } from './daemon.js'
import type { Settings } from './daemon-process.js'
import { makeDirectory, removeDirectory } from './directories.js'
import { freshDatabase } from './postgres.js'

/** A home and an empty database that outlive their daemons: for tests that stop, kill, restart or look underneath. */
export interface Store {
  home: string
  /** A PostgreSQL URL, or the path of the SQLite file. */
  url: string
  start(env?: Settings): Promise<Daemon>
  /** Another connection, one only, so that BEGIN and what follows are on the same one. */
  connect(): Knex
  /** All that is in the database, as text. */
  stored(): Promise<string>
}

export interface StoreKind {
  name: 'SQLite' | 'PostgreSQL'
  /** Its daemons are killed, and it is removed, after the block. */
  make(): Promise<Store>
  /** What is to be done after the block, the last first. */
  afterwards(step: () => Promise<unknown>): void
}

/** Defines the same tests once per database. */
export function eachStore(define: (kind: StoreKind) => void): void {
  for (const name of ['SQLite', 'PostgreSQL'] as const) {
    describe(`on ${name}`, () => {
      const steps: (() => Promise<unknown>)[] = []
      after(async () => {
        for (const step of steps.reverse()) await step()
      })
      const afterwards: StoreKind['afterwards'] = (step) => void steps.push(step)
      define({ name, make: () => makeStore(name, afterwards), afterwards })
    })
  }
}

async function makeStore(name: StoreKind['name'], afterwards: StoreKind['afterwards']): Promise<Store> {
  const home = await makeDirectory()
  afterwards(() => removeDirectory(home))
  const database = name === 'PostgreSQL' ? await freshDatabase() : null
  if (database) afterwards(database.drop)
  const connect = () =>
    knex(
      database
        ? { client: 'pg', connection: database.url, pool: { min: 0, max: 1 } }
        : { client: 'sqlite3', connection: { filename: join(home, 'stoa.db') }, useNullAsDefault: true, pool: { min: 0, max: 1 } }
    )
  return {
    home,
    url: database?.url ?? join(home, 'stoa.db'),
    start: async (env) => {
      const daemon = await startDaemon({ home, ...(database && { databaseUrl: database.url }), ...(env && { env }) })
      afterwards(() => daemon.kill())
      return daemon
    },
    connect: () => {
      const connection = connect()
      afterwards(() => connection.destroy())
      return connection
    },
    stored: () => (database ? rowsIn(connect()) : filesIn(home))
  }
}

/** The rows of a query, whichever driver answered. */
export async function rows(connection: Knex, sql: string, params: (string | number)[] = []): Promise<Record<string, unknown>[]> {
  const answer = (await connection.raw(sql, params)) as { rows?: Record<string, unknown>[] } | Record<string, unknown>[]
  return Array.isArray(answer) ? answer : (answer.rows ?? [])
}

/** The SQLite files byte for byte: what was deleted, or is in the log only, is in there too. */
async function filesIn(home: string): Promise<string> {
  const files = (await readdir(home)).filter((file) => file.startsWith('stoa.db'))
  return (await Promise.all(files.map((file) => readFile(join(home, file), 'latin1')))).join('\n')
}

async function rowsIn(connection: Knex): Promise<string> {
  try {
    const all: unknown[] = []
    for (const { name } of await rows(connection, `select tablename as name from pg_tables where schemaname = 'public'`))
      all.push(await rows(connection, `select * from "${String(name)}"`))
    return JSON.stringify(all)
  } finally {
    await connection.destroy()
  }
}
