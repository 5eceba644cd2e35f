import { SettingError } from '../config.js'
import type { Database } from './database.js'
import { isPostgres } from './database-url.js'
import { migrate } from './migrate.js'
import { openPostgres } from './postgres/open.js'
import { openSqlite } from './sqlite/open.js'

/** Migrates, then opens. `url` is a PostgreSQL URL or the path of a SQLite file. */
export async function openDatabase(url: string, onIdleError: (error: Error) => void): Promise<Database> {
  try {
    await migrate(url)
  } catch (error) {
    throw unreachable(error) ?? error
  }
  return isPostgres(url) ? openPostgres(url, onIdleError) : openSqlite(url)
}

/** Says which setting to look at, and never repeats the URL: it has a password in it. */
function unreachable(error: unknown): SettingError | null {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  if (/^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|EAI_AGAIN|28\w{3}|3D000)$/.test(code)) {
    return new SettingError(
      `STOA_DATABASE_URL names a PostgreSQL that does not let us in (${code}): check that it runs, and the host, database, user and password`
    )
  }
  if (code === 'SQLITE_CANTOPEN' || code === 'SQLITE_READONLY')
    return new SettingError(`STOA_HOME has a database that cannot be written (${code}): check its owner and the disk`)
  return null
}
