import type { JournalEntry } from '@stoa/core/journal/entry'
import type { Row, Unit } from '../database.js'
import { isOfOneStatement, mapDriverError } from '../errors.js'
import { completeEntries, encodeJournal, insertJournal } from '../journal-rows.js'
import type { SqliteConnection } from './connection.js'
import { sqliteDialect } from './dialect.js'

interface Pending {
  unit: Unit
  resolve(rows: Row[] | null): void
  reject(error: unknown): void
}

/**
 * SQLite has one writer, so units that are ready together share one transaction: one fsync and one journal statement
 * for all of them, and each answer still waits for the commit. The steps run one after the other in the order the units
 * came, so a unit sees what an earlier one of its group has changed: a write behind a revocation finds its guard gone.
 *
 * A member that breaks a constraint, or that held only in part, must not hurt the others: the group is rolled back and
 * every member runs again alone. Anything else (disk full, locked, read-only) fails them all, and nothing was written.
 */
export class GroupWriter {
  private queue: Pending[] = []
  private draining: Promise<void> | null = null

  constructor(private readonly connection: SqliteConnection) {}

  commit(unit: Unit): Promise<Row[] | null> {
    return new Promise((resolve, reject) => {
      this.queue.push({ unit, resolve, reject })
      this.draining ??= this.drain()
    })
  }

  async close(): Promise<void> {
    await this.draining
    await this.connection.close()
  }

  /** Waits one turn of the event loop first: that is what lets requests meet in a group. */
  private async drain(): Promise<void> {
    await new Promise(setImmediate)
    while (this.queue.length > 0) await this.write(this.queue.splice(0, MAX_GROUP))
    this.draining = null
  }

  private async write(group: Pending[]): Promise<void> {
    try {
      const answers = await this.transaction(group.map(({ unit }) => unit))
      group.forEach(({ resolve }, index) => resolve(answers[index]!))
    } catch (error) {
      if (error instanceof HeldInPart && group.length === 1) return group[0]!.resolve(null)
      const isolate = group.length > 1 && (error instanceof HeldInPart || isOfOneStatement(error))
      if (!isolate) return group.forEach(({ reject }) => reject(mapDriverError(error)))
      for (const member of group) await this.write([member])
    }
  }

  private async transaction(units: Unit[]): Promise<(Row[] | null)[]> {
    // Reads and refusals only record: one INSERT is a transaction by itself, at half the statements.
    if (units.every(({ steps }) => steps.length === 0)) {
      await this.connection.all(INSERT_JOURNAL, [encodeJournal(units.flatMap(({ entries }) => entries))])
      return units.map(() => [])
    }
    await this.connection.all('BEGIN IMMEDIATE', [])
    try {
      const answers: (Row[] | null)[] = []
      const entries: JournalEntry[] = []
      for (const unit of units) {
        const rows = await this.runSteps(unit)
        answers.push(rows)
        if (rows) entries.push(...completeEntries(unit.entries, rows))
      }
      if (entries.length > 0) await this.connection.all(INSERT_JOURNAL, [encodeJournal(entries)])
      await this.connection.all('COMMIT', [])
      return answers
    } catch (error) {
      // Some errors (a full disk) end the transaction by themselves; then there is nothing left to roll back.
      await this.connection.all('ROLLBACK', []).catch(() => undefined)
      throw error
    }
  }

  private async runSteps(unit: Unit): Promise<Row[] | null> {
    let answer: Row[] = []
    for (const [index, step] of unit.steps.entries()) {
      const rows = await this.connection.all(step.sql, step.params)
      if (step.optional) continue
      if (rows.length === 0) {
        if (index > 0) throw new HeldInPart()
        return null
      }
      answer = rows
    }
    return answer
  }
}

class HeldInPart extends Error {}

/** Bounds how long one transaction can keep other daemons on the same file waiting. */
const MAX_GROUP = 256

const INSERT_JOURNAL = insertJournal(sqliteDialect)
