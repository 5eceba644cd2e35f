import { startDaemon, type Daemon } from './daemon.js'
import { freshDatabase } from './postgres.js'

export interface Database {
  name: 'SQLite' | 'PostgreSQL'
  /** A daemon on a new, empty database of this kind. It is stopped, and its database removed, after the block. */
  start(env?: Record<string, string>): Promise<Daemon>
}

/** Defines the same tests once per database. */
export function eachDatabase(define: (database: Database) => void): void {
  describe('on SQLite', () => {
    const cleanUp = afterwards()
    define({ name: 'SQLite', start: async (env) => stoppedBy(cleanUp, await startDaemon({ ...(env && { env }) })) })
  })

  describe('on PostgreSQL', () => {
    const cleanUp = afterwards()
    define({
      name: 'PostgreSQL',
      start: async (env) => {
        const { url, drop } = await freshDatabase()
        cleanUp.push(drop)
        return stoppedBy(cleanUp, await startDaemon({ databaseUrl: url, ...(env && { env }) }))
      }
    })
  })
}

type CleanUp = (() => Promise<void>)[]

function afterwards(): CleanUp {
  const steps: CleanUp = []
  after(async () => {
    for (const step of steps.reverse()) await step()
  })
  return steps
}

function stoppedBy(cleanUp: CleanUp, daemon: Daemon): Daemon {
  cleanUp.push(() => daemon.stop())
  return daemon
}
