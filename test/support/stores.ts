import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { startDaemon, type Daemon } from './daemon.js'
import { freshDatabase } from './postgres.js'

/** A home and an empty database that outlive their daemons: for tests that stop, kill, restart or look underneath. */
export interface Store {
  home: string
  /** A PostgreSQL URL, or the path of the SQLite file. */
  url: string
  start(env?: Record<string, string>): Promise<Daemon>
  /** Another connection, one only, so that BEGIN and what follows are on the same one. */
  connect(): Knex
}

export interface StoreKind {
  name: 'SQLite' | 'PostgreSQL'
  /** Its daemons are killed, and it is removed, after the block. */
  make(): Promise<Store>
}

/** Defines the same tests once per database, like `eachDatabase`. */
export function eachStore(define: (kind: StoreKind) => void): void {
  for (const name of ['SQLite', 'PostgreSQL'] as const) {
    describe(`on ${name}`, () => {
      const cleanUp: (() => Promise<unknown>)[] = []
      after(async () => {
        for (const step of cleanUp.reverse()) await step()
      })
      define({ name, make: () => makeStore(name, cleanUp) })
    })
  }
}

export async function makeHome(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'stoa-store-'))
}

export async function removeHome(home: string): Promise<void> {
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
}

async function makeStore(name: StoreKind['name'], cleanUp: (() => Promise<unknown>)[]): Promise<Store> {
  const home = await makeHome()
  cleanUp.push(() => removeHome(home))
  const database = name === 'PostgreSQL' ? await freshDatabase() : null
  if (database) cleanUp.push(database.drop)
  return {
    home,
    url: database?.url ?? join(home, 'stoa.db'),
    start: async (env) => {
      const daemon = await startDaemon({ home, ...(database && { databaseUrl: database.url }), ...(env && { env }) })
      cleanUp.push(() => daemon.kill())
      return daemon
    },
    connect: () => {
      const connection = knex(
        database
          ? { client: 'pg', connection: database.url, pool: { min: 0, max: 1 } }
          : { client: 'sqlite3', connection: { filename: join(home, 'stoa.db') }, useNullAsDefault: true, pool: { min: 0, max: 1 } }
      )
      cleanUp.push(() => connection.destroy())
      return connection
    }
  }
}

/** The rows of a query, whichever driver answered. */
export async function rows(connection: Knex, sql: string, params: (string | number)[] = []): Promise<Record<string, unknown>[]> {
  const answer = (await connection.raw(sql, params)) as { rows?: Record<string, unknown>[] } | Record<string, unknown>[]
  return Array.isArray(answer) ? answer : (answer.rows ?? [])
}
