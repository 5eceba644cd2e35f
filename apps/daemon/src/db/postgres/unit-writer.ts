import type { JournalEntry } from '@stoa/core/journal/entry'
import type pg from 'pg'
import type { Row, Step, Unit } from '../database.js'
import { isTransient, mapDriverError } from '../errors.js'
import { columnType, completeEntries, encodeJournal, insertJournal, journalColumns, journalValues } from '../journal-rows.js'
import { postgresDialect } from './dialect.js'
import { prepare } from './statements.js'

interface Waiting {
  entries: JournalEntry[]
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

/**
 * A unit of one step is one statement: the change and its journal row in one CTE, so they commit together without a
 * BEGIN and without a second round trip. Units of more steps are an ordinary transaction. Entries without a change
 * (reads, refusals) that are ready together are inserted together.
 */
export class UnitWriter {
  private waiting: Waiting[] = []

  constructor(private readonly pool: pg.Pool) {}

  async commit(unit: Unit): Promise<Row[] | null> {
    try {
      if (unit.steps.length === 0) return await this.record(unit.entries)
      if (unit.steps.length === 1 && unit.entries.length === 1 && !unit.large) return await this.runStatement(unit)
      return await this.runTransaction(unit)
    } catch (error) {
      // What only records has nothing to decide again: it failed, and must not pass for recorded.
      if (isTransient(error) && unit.steps.length > 0) return null
      throw mapDriverError(error)
    }
  }

  private async runStatement(unit: Unit): Promise<Row[] | null> {
    const [step] = unit.steps
    const [entry] = unit.entries
    const values = journalValues(entry!).filter((_, index) => journalColumns[index] !== 'version')
    const { rows } = await this.pool.query<Row>(
      prepare(changeAndRecord(step!), [...(step!.first?.params ?? []), ...step!.params, ...values])
    )
    return rows.length > 0 ? rows : null
  }

  private async runTransaction(unit: Unit): Promise<Row[] | null> {
    const client = await this.pool.connect()
    let failure: Error | undefined
    // A connection that is lost between two statements says so by an event, and one that nobody hears ends the process.
    const lose = (error: Error): void => {
      failure = error
    }
    client.on('error', lose)
    try {
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
      if (unit.large) await client.query(`SET LOCAL statement_timeout = ${LARGE_MS}`)
      let answer: Row[] = []
      for (const step of unit.steps) {
        const sql = step.first ? `WITH ${asCte(step.first)} ${step.sql}` : step.sql
        const query = prepare(sql, [...(step.first?.params ?? []), ...step.params])
        const { rows } = await client.query<Row>(unit.large ? withTime(query) : query)
        if (step.optional) continue
        if (rows.length === 0) {
          await client.query('ROLLBACK')
          return null
        }
        answer = rows
      }
      const entries = completeEntries(unit.entries, answer)
      if (entries.length > 0) await client.query(prepare(INSERT_JOURNAL, [encodeJournal(entries)]))
      await client.query('COMMIT')
      return answer
    } catch (error) {
      await client.query('ROLLBACK').catch((rollbackError: Error) => {
        failure = rollbackError
      })
      throw error
    } finally {
      client.off('error', lose)
      client.release(failure)
    }
  }

  private record(entries: JournalEntry[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ entries, resolve, reject })
      if (this.waiting.length === 1) setImmediate(() => void this.flush())
    })
  }

  private async flush(): Promise<void> {
    const records = this.waiting
    this.waiting = []
    try {
      await this.pool.query(prepare(INSERT_JOURNAL, [encodeJournal(records.flatMap(({ entries }) => entries))]))
      records.forEach(({ resolve }) => resolve([]))
    } catch (error) {
      records.forEach(({ reject }) => reject(error))
    }
  }
}

/** Of 100,000 messages a fork took 4 s and a truncation 5 s: each row is written anew, with its words in the index. */
const LARGE_MS = 120_000

/** The driver looks for it here, its types do not. */
function withTime(query: pg.QueryConfig): pg.QueryConfig {
  return { ...query, query_timeout: 2 * LARGE_MS } as pg.QueryConfig
}

const INSERT_JOURNAL = insertJournal(postgresDialect)

function asCte({ name, sql }: NonNullable<Step['first']>): string {
  return `${name} AS (${sql})`
}

const values = journalColumns.map((column) => (column === 'version' ? 'change.version' : `?::${columnType(column)}`)).join(', ')

function changeAndRecord({ first, sql }: Step): string {
  const ctes = [
    ...(first ? [asCte(first)] : []),
    `change AS (${sql})`,
    `entry AS (INSERT INTO journal (${journalColumns.join(', ')}) SELECT ${values} FROM change)`
  ]
  return `WITH ${ctes.join(', ')} SELECT * FROM change`
}
