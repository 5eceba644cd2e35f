import knex from 'knex'
import pg from 'pg'
import type { Database, Row } from '../database.js'
import { mapDriverError } from '../errors.js'
import { postgresDialect } from './dialect.js'
import { prepare } from './statements.js'
import { UnitWriter } from './unit-writer.js'

/** Connections a daemon holds at most: these for single statements, and LIST_CONNECTIONS for list queries. */
const CONNECTIONS = 16
const LIST_CONNECTIONS = 4

/** The guards are written for READ COMMITTED. A table that somebody has locked, or a server that hangs, is an answer too: 503, and nothing was changed. */
const session = {
  options: '-c default_transaction_isolation=read\\ committed',
  statement_timeout: 10_000,
  lock_timeout: 5_000,
  query_timeout: 15_000,
  connectionTimeoutMillis: 5_000
}

/** bigint arrives as text; every number we store fits in a double. */
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

export async function openPostgres(url: string, onIdleError: (error: Error) => void): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS, ...session })
  pool.on('error', onIdleError)
  const builder = knex({
    client: 'pg',
    connection: { connectionString: url, ...session },
    pool: { min: 0, max: LIST_CONNECTIONS },
    acquireConnectionTimeout: 5_000,
    compileSqlOnError: false
  })
  const writer = new UnitWriter(pool)
  return {
    dialect: postgresDialect,
    knex: builder,
    read: async (sql, params) => {
      try {
        return (await pool.query<Row>(prepare(sql, params))).rows
      } catch (error) {
        throw mapDriverError(error)
      }
    },
    commit: (unit) => writer.commit(unit),
    async close() {
      await builder.destroy()
      await pool.end()
    }
  }
}
