import type { Migration } from '../migrate.js'
import { createRecords } from './0001_create_records.js'
import { createCredentials } from './0002_create_credentials.js'
import { createJournal } from './0003_create_journal.js'

/** In order, forward only; an entry on main is never edited. */
export const migrations: readonly Migration[] = [createRecords, createCredentials, createJournal]
