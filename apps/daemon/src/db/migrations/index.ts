import type { Migration } from '../migrate.js'
import { createRecords } from './0001_create_records.js'
import { createCredentials } from './0002_create_credentials.js'
import { createJournal } from './0003_create_journal.js'
import { extendMessages } from './0004_extend_messages.js'
import { createRemovals } from './0005_create_removals.js'
import { freezeTaskConfig } from './0006_freeze_task_config.js'
import { indexSessions } from './0007_index_sessions.js'
import { createLeases } from './0008_create_leases.js'

/** In order, forward only; an entry on main is never edited. */
export const migrations: readonly Migration[] = [
  createRecords,
  createCredentials,
  createJournal,
  extendMessages,
  createRemovals,
  freezeTaskConfig,
  indexSessions,
  createLeases
]
