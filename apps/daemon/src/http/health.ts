import type { Deps } from '../deps.js'

export interface Health {
  status: 'ok' | 'failing'
  database: { kind: string; status: 'ok' | 'failing' }
  uptime_s: number
}

/** Asks the database, and gives up before a supervisor would. */
export async function checkHealth({ db }: Deps): Promise<Health> {
  const status = await Promise.race([
    db.read('SELECT 1 AS one', []).then(
      () => 'ok' as const,
      () => 'failing' as const
    ),
    new Promise<'failing'>((resolve) => setTimeout(resolve, 2_000, 'failing').unref())
  ])
  return { status, database: { kind: db.dialect.name, status }, uptime_s: Math.floor(process.uptime()) }
}
