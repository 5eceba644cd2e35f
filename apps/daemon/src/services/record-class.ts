import type { Effect } from '@stoa/core/journal/entry'
import type { Row, Unit } from '../db/database.js'
import { RecordService } from '../db/record-service.js'
import { decodeRow, type Table } from '../db/tables.js'
import type { Deps } from '../deps.js'
import { accessOf, type Access, type StoaParams } from '../hooks/access.js'
import { commitAndCount, commitUnit } from '../hooks/commit-unit.js'
import { allowedEntry, type Outcome } from '../hooks/journal-entry.js'

/** What the classes of our services share: reading what the pipeline loaded, and writing a unit with its entry. */
export class RecordClass extends RecordService {
  constructor(
    protected readonly deps: Deps,
    table: Table
  ) {
    super(deps.db, table)
  }

  /** The record was loaded to decide on it; it is not read a second time. */
  async get(_id: string | number, params?: StoaParams): Promise<Row> {
    return this.present(accessOf(params).loaded!.record!, params!)
  }

  /** Commits, and presents the row that was written. */
  protected async write(params: StoaParams, build: () => Unit | Promise<Unit>): Promise<Row> {
    const [row] = await commitUnit(this.deps, accessOf(params), build)
    return this.present(decodeRow(this.table, row!), params)
  }

  protected allow(access: Access, effect: Effect, more: Partial<Outcome> = {}) {
    return allowedEntry(this.deps, access, effect, more)
  }

  /** The same request came again: what it asked for is there, so it is answered and recorded like a read. */
  protected async recordRepeat(access: Access, resource_id: string): Promise<void> {
    const entry = this.allow(access, { change: 'read' }, { resource_id })
    await commitAndCount(this.deps, { steps: [], entries: [entry] })
    access.repeated = true
    access.decision_id = entry.id
  }

  protected now(): string {
    return this.deps.now().toISOString()
  }

  /** The stamps of a new record. */
  protected stamps(access: Access): { created_at: string; created_by: string; updated_at: string } {
    const now = this.now()
    return { created_at: now, created_by: access.who!.actor.user_id, updated_at: now }
  }
}
