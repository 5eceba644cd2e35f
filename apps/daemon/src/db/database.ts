import type { SearchTerm } from '@stoa/core/domain/words'
import type { JournalEntry } from '@stoa/core/journal/entry'
import type { Knex } from 'knex'

export type Value = string | number | boolean | null
export type Row = Record<string, unknown>

export interface Statement {
  /** Placeholders are `?` on both databases. */
  sql: string
  params: Value[]
}

export interface Step extends Statement {
  /** PostgreSQL: a statement that runs as part of this one, which reads its rows under this name. */
  first?: Statement & { name: string }
  /** A step must touch at least one row, or the whole unit does not hold. Bookkeeping that may touch none says so. */
  optional?: boolean
}

/**
 * What one request writes: its guarded steps and its journal entries, in one transaction or not at all.
 * A unit without steps only records (a read, a refusal). The rows of the last step that is not optional are the answer,
 * and the journal entries take their `version`, and their count from `affected`, from those rows, one entry a row.
 */
export interface Unit {
  steps: Step[]
  entries: JournalEntry[]
  /** It writes as many rows as there are in a session or a worktree, so it is given more time than a request usually has. */
  large?: boolean
}

export interface Dialect {
  name: 'sqlite' | 'postgres'
  /**
   * Behind a subquery in a write's WHERE: keeps the rows it found as they are until the commit, and looks at them again when
   * it had to wait. PostgreSQL does neither by itself (of 60 pairs of owners who left at once, 49 left no owner); SQLite
   * has one writer.
   */
  holdRows(...aliases: string[]): string
  /** The same, but only against removal: other changes of the rows go on. */
  keepRows(...aliases: string[]): string
  /** Narrows a list of messages to those that have all the words, within one session when it is named. `from` is in place of the table. */
  search(terms: SearchTerm[], sessionId: string | null): { from: string; where: Statement; newestFirst: string }
  /** The text under a key of a JSON text column. As an expression it can be indexed (sessions_forked_from). */
  readJson(column: string, key: string): string
  /** The id of a row by its position: takes the first 24 characters and a number to count on from. */
  countedId(position: string): string
  /** Merges the keys of a JSON object into a JSON text column; keys with null are removed. */
  mergeJson(column: string, patch: Record<string, unknown>): Statement
  /**
   * Rows out of one parameter: a JSON list of lists. One text whatever their number, so the statement is kept.
   * `each` stands in FROM, `at` reads a column of the row, `position` counts from 1.
   */
  rows: { each: string; at(index: number, type: 'text' | 'integer' | 'boolean'): string; position: string }
}

export interface Database {
  dialect: Dialect
  /** Builds and runs list queries; never used to write. */
  knex: Knex
  /** One read with a kept prepared statement. */
  read(sql: string, params: Value[]): Promise<Row[]>
  /** The rows of the unit's answer; null when what it was decided on no longer holds and nothing was written. */
  commit(unit: Unit): Promise<Row[] | null>
  close(): Promise<void>
}
