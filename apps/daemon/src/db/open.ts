import type { Database } from './database.js'
import { isPostgres, migrate } from './migrate.js'
import { openPostgres } from './postgres/open.js'
import { openSqlite } from './sqlite/open.js'

/** Migrates, then opens. `url` is a PostgreSQL URL or the path of a SQLite file. */
export async function openDatabase(url: string, onIdleError: (error: Error) => void): Promise<Database> {
  await migrate(url)
  return isPostgres(url) ? openPostgres(url, onIdleError) : openSqlite(url)
}
