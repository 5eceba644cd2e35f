import { StoaError } from '@stoa/core/errors'
import type { SessionCreate, SessionPatch } from '@stoa/core/schema/sessions'
import type { Row } from '../../db/database.js'
import { holdTokens } from '../../db/queries/hold-tokens.js'
import { tables } from '../../db/tables.js'
import { Sql, deleteWhere, insertWhere, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { recordHolds, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.sessions

export class SessionsClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  async create(data: SessionCreate, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const { worktree_id } = access.loaded!.worktree!
    if (data.parent_session_id) await this.requireParent(data.parent_session_id, worktree_id as string)
    const session_id = this.deps.newId()
    return await this.write(params, () => ({
      steps: [
        insertWhere(
          table,
          { session_id, ...data, settings: withoutNulls(data.settings ?? {}), worktree_id, ...this.stamps(access) },
          [stillAllowed(this.deps, access)]
        )
      ],
      entries: [this.allow(access, { change: 'created', fields: access.fields }, { resource_id: session_id, session_id })]
    }))
  }

  /** Writes the named columns and nothing else; `settings` is merged key by key inside the statement. */
  async patch(_id: unknown, data: SessionPatch, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const { settings, ...columns } = data
    const values: Record<string, unknown> = { ...columns, updated_at: this.now() }
    if (settings !== undefined) {
      const merged = this.deps.db.dialect.mergeJson('settings', settings)
      values['settings'] = new Sql(merged.sql, ...merged.params)
    }
    return await this.write(params, () => ({
      steps: [updateWhere(table, values, recordHolds(this.deps, access, table))],
      entries: [this.allow(access, { change: 'patched', fields: access.fields })]
    }))
  }

  /** Its messages and tasks go with it; sessions that it has started stay, without a parent. */
  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, () => {
      if (access.loaded!.record!['pinned']) throw new StoaError('pinned')
      return {
        steps: [
          ...holdTokens(this.deps.db.dialect, 's.session_id', access.resource_id!),
          deleteWhere(table, [...recordHolds(this.deps, access, table), new Sql('pinned = ?', false)])
        ],
        entries: [this.allow(access, { change: 'removed' })],
        large: true
      }
    })
  }

  /** A child lives in its parent's worktree: one that is elsewhere is as good as absent. */
  private async requireParent(sessionId: string, worktreeId: string): Promise<void> {
    const found = await this.deps.db.read('SELECT 1 AS found FROM sessions WHERE session_id = ? AND worktree_id = ?', [
      sessionId,
      worktreeId
    ])
    if (found.length === 0) throw new StoaError('not_found')
  }
}

function withoutNulls(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null))
}
