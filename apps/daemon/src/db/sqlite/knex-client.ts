import { createRequire } from 'node:module'
import type { Knex } from 'knex'
import type { Row, Value } from '../database.js'
import type { SqliteConnection } from './connection.js'

/** knex publishes its dialects only as CommonJS files. */
const Sqlite3Client = createRequire(import.meta.url)('knex/lib/dialects/sqlite3/index.js') as new (
  config: Knex.Config
) => Knex.Client

interface Query {
  sql: string
  bindings?: Value[]
  response?: Row[]
}

/**
 * knex on our own reader connections, so that list queries have kept statements too and never wait for the writer.
 * knex's pool only bounds how many run at once: handles are shared, SQLite reads on one handle simply queue.
 */
export function knexClientOn(readers: SqliteConnection[]): typeof Knex.Client {
  let next = 0
  class KeptStatementsClient extends Sqlite3Client {
    override acquireRawConnection(): Promise<SqliteConnection> {
      return Promise.resolve(readers[next++ % readers.length]!)
    }

    override destroyRawConnection(): Promise<void> {
      return Promise.resolve()
    }

    async _query(connection: SqliteConnection, query: Query): Promise<Query> {
      query.response = await connection.all(query.sql, query.bindings ?? [])
      return query
    }
  }
  return KeptStatementsClient as unknown as typeof Knex.Client
}
