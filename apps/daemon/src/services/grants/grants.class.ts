import { StoaError } from '@stoa/core/errors'
import type { GrantCreate, GrantPatch } from '@stoa/core/schema/grants'
import type { Row, Step } from '../../db/database.js'
import { tables } from '../../db/tables.js'
import { deleteWhere, insertWhere, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'
import { recordIs, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.grants

/**
 * Every change of a grant first takes the worktree's access version: changes of one worktree's rights follow one another,
 * and whatever was decided on the version before is decided again.
 */
export class GrantsClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  async create(data: GrantCreate, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const grant_id = this.deps.newId()
    return await this.write(params, () => ({
      steps: [
        this.bumpAccess(access, data.worktree_id),
        insertWhere(table, { grant_id, ...data, granted_by: access.who!.actor.user_id, ...this.stamps(access) }, [])
      ],
      entries: [
        this.allow(
          access,
          {
            change: 'created',
            fields: access.fields,
            before: { user_id: data.user_id, level: null },
            after: { user_id: data.user_id, level: data.level }
          },
          { kind: 'access_change', resource_id: grant_id }
        )
      ]
    }))
  }

  async patch(_id: unknown, data: GrantPatch, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, async () => {
      const { user_id, level, worktree_id } = access.loaded!.record!
      if (level === 'owner' && data.level !== undefined && data.level !== 'owner') await this.keepAnOwner(access)
      const values = { ...data, granted_by: access.who!.actor.user_id, updated_at: this.now() }
      return {
        steps: [this.bumpAccess(access, worktree_id as string), updateWhere(table, values, recordIs(access, table))],
        entries: [
          this.allow(
            access,
            {
              change: 'patched',
              fields: access.fields,
              before: { user_id, level },
              after: { user_id, level: data.level ?? level }
            },
            { kind: 'access_change' }
          )
        ]
      }
    })
  }

  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, async () => {
      const { user_id, level, worktree_id } = access.loaded!.record!
      if (level === 'owner') await this.keepAnOwner(access)
      return {
        steps: [this.bumpAccess(access, worktree_id as string), deleteWhere(table, recordIs(access, table))],
        entries: [
          this.allow(
            access,
            { change: 'removed', before: { user_id, level }, after: { user_id, level: null } },
            { kind: 'access_change' }
          )
        ]
      }
    })
  }

  /** Read outside the unit, and safe: the unit holds only while the access version is the one that was loaded before this. */
  private async keepAnOwner(access: Access): Promise<void> {
    const { worktree_id, grant_id } = access.loaded!.record!
    const others = await this.deps.db.read(
      `SELECT 1 AS found FROM grants WHERE worktree_id = ? AND level = 'owner' AND grant_id <> ?`,
      [worktree_id as string, grant_id as string]
    )
    if (others.length === 0) throw new StoaError('last_owner')
  }

  /** The worktree's own `version` stays: its settings have not changed. */
  private bumpAccess(access: Access, worktreeId: string): Step {
    const allowed = stillAllowed(this.deps, access, { table: 'worktrees', id: worktreeId })
    return {
      sql: `UPDATE worktrees SET access_version = access_version + 1 WHERE worktree_id = ? AND ${allowed.sql} RETURNING access_version`,
      params: [worktreeId, ...allowed.params]
    }
  }
}
