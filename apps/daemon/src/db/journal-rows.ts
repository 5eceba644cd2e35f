import type { JournalEntry } from '@stoa/core/journal/entry'
import type { Dialect, Row, Value } from './database.js'

/** The columns of a journal row, in the order that both databases insert them. */
export const journalColumns = [
  'id',
  'ts',
  'kind',
  'decision',
  'reason_code',
  'reason',
  'actor_id',
  'actor',
  'credential',
  'action',
  'service',
  'method',
  'transport',
  'resource_type',
  'resource_id',
  'worktree_id',
  'session_id',
  'claimed',
  'actual',
  'spoofed',
  'basis',
  'trace',
  'effect',
  'version',
  'request'
] as const satisfies readonly (keyof JournalEntry)[]

export function journalValues(entry: JournalEntry): Value[] {
  return journalColumns.map((column) => {
    const value = entry[column]
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  })
}

/** What is only known once it is written: the version of the row, and how many other rows went with it. */
export function completeEntries(entries: JournalEntry[], rows: Row[]): JournalEntry[] {
  return entries.map((entry, index) => {
    const { version, affected } = rows[index] ?? {}
    return {
      ...entry,
      ...(typeof version === 'number' && { version }),
      ...(typeof affected === 'number' && entry.effect && { effect: { ...entry.effect, count: affected } })
    }
  })
}

/** Inserts any number of entries, in their order. */
export function insertJournal({ rows }: Dialect): string {
  const values = journalColumns.map((column, index) => rows.at(index, columnType(column)))
  return `
    INSERT INTO journal (${journalColumns.join(', ')})
    SELECT ${values.join(', ')} FROM ${rows.each} ORDER BY ${rows.position}`
}

export function encodeJournal(entries: JournalEntry[]): string {
  return JSON.stringify(entries.map(journalValues))
}

export function columnType(column: (typeof journalColumns)[number]): 'text' | 'integer' | 'boolean' {
  if (column === 'version') return 'integer'
  return column === 'spoofed' ? 'boolean' : 'text'
}
