import type { Logger } from 'pino'
import type { Credentials } from './auth/credentials.js'
import type { Config } from './config.js'
import type { Database } from './db/database.js'
import type { QueueBell } from './dispatch/queue-bell.js'
import type { Metrics } from './http/metrics.js'

/** What the parts of the daemon are given, instead of reaching for it. */
export interface Deps {
  bell: QueueBell
  config: Config
  credentials: Credentials
  db: Database
  logger: Logger
  metrics: Metrics
  now(): Date
  newId(): string
}
