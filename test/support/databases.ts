import type { Daemon } from './daemon.js'
import type { Settings } from './daemon-process.js'
import { eachStore, type StoreKind } from './stores.js'

export interface Database {
  name: StoreKind['name']
  /** A daemon on a new, empty database of this kind. After the block it has to stop as it should, and its database is removed. */
  start(env?: Settings): Promise<StoringDaemon>
}

export interface StoringDaemon extends Daemon {
  /** All that is in its database, as text. */
  stored(): Promise<string>
}

/** Defines the same tests once per database, for tests that need no more of it than a daemon. */
export function eachDatabase(define: (database: Database) => void): void {
  eachStore(({ name, make, afterwards }) => {
    const start = async (env?: Settings): Promise<StoringDaemon> => {
      const store = await make()
      const daemon = await store.start(env)
      afterwards(() => daemon.stop())
      return { ...daemon, stored: store.stored }
    }
    define({ name, start })
  })
}
