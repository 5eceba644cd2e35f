import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { ADMIN } from './daemon.js'
import { startHeardDaemon, type HeardDaemon } from './heard-daemon.js'
import { freshDatabase } from './postgres.js'

export interface WatchedDaemon extends HeardDaemon {
  /** All that is in its database, as text. */
  stored(): Promise<string>
}

/** The settings that make the first admin. */
export const WITH_ADMIN = { STOA_ADMIN_EMAIL: ADMIN.email, STOA_ADMIN_PASSWORD: ADMIN.password }

/** Like eachDatabase, with daemons of which the test hears every word and reads every row. */
export function eachWatchedDatabase(define: (start: (settings: Record<string, string>) => Promise<WatchedDaemon>) => void): void {
  describe('on SQLite', () => {
    const cleanUp = afterwards()
    define(async (settings) => {
      const daemon = await startHeardDaemon(settings)
      cleanUp.push(daemon.stop)
      return { ...daemon, stored: () => filesIn(daemon.home) }
    })
  })

  describe('on PostgreSQL', () => {
    const cleanUp = afterwards()
    define(async (settings) => {
      const { url, drop } = await freshDatabase()
      cleanUp.push(drop)
      const daemon = await startHeardDaemon({ ...settings, STOA_DATABASE_URL: url })
      cleanUp.push(daemon.stop)
      return { ...daemon, stored: () => rowsIn(url) }
    })
  })
}

function afterwards(): (() => Promise<void>)[] {
  const steps: (() => Promise<void>)[] = []
  after(async () => {
    for (const step of steps.reverse()) await step()
  })
  return steps
}

/** The SQLite files byte for byte: what was deleted, or is in the log only, is in there too. */
async function filesIn(home: string): Promise<string> {
  const files = (await readdir(home)).filter((file) => file.startsWith('stoa.db'))
  return (await Promise.all(files.map((file) => readFile(join(home, file), 'latin1')))).join('\n')
}

async function rowsIn(url: string): Promise<string> {
  const connection = new pg.Client({ connectionString: url })
  await connection.connect()
  try {
    const { rows: tables } = await connection.query<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
    const all: unknown[] = []
    for (const { name } of tables) all.push((await connection.query(`select * from "${name}"`)).rows)
    return JSON.stringify(all)
  } finally {
    await connection.end()
  }
}
