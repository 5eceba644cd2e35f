import type { Paginated } from '@feathersjs/feathers'
import { effectiveLevel, type GrantLevel, type OthersLevel } from '@stoa/core/policy/levels'
import type { WorktreeCreate, WorktreePatch } from '@stoa/core/schema/worktrees'
import type { Row } from '../../db/database.js'
import { holdTokens } from '../../db/queries/hold-tokens.js'
import { pick } from '../../db/record-service.js'
import { tables } from '../../db/tables.js'
import { Sql, deleteWhere, insertWhere, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { makeWorktree, type MadeWorktree } from '../../git/make-worktree.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { recordHolds, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.worktrees

export class WorktreesClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  /** The creator becomes owner in the same unit: there is no moment without one. */
  async create(data: WorktreeCreate, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const worktree_id = this.deps.newId()
    const others_can = data.others_can ?? 'session'
    const made = await this.makeOnDisk(data, worktree_id)
    const place = made && { repo_path: made.repo_path, path: made.path, ref: made.ref, base_sha: made.base_sha }
    try {
      const record = await this.write(params, () => ({
        steps: [
          insertWhere(table, { worktree_id, name: data.name, others_can, ref: data.ref, ...place, ...this.stamps(access) }, [
            stillAllowed(this.deps, access)
          ]),
          { ...this.ownerGrant(worktree_id, params), optional: true }
        ],
        entries: [
          this.allow(
            access,
            { change: 'created', fields: access.fields, after: { others_can, owner: access.who!.actor.user_id } },
            { kind: 'access_change', resource_id: worktree_id, worktree_id }
          )
        ]
      }))
      return { ...record, my_level: 'owner' }
    } catch (error) {
      await made?.undo()
      throw error
    }
  }

  async patch(_id: unknown, data: WorktreePatch, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const changesAccess = data.others_can !== undefined
    const values = { ...data, updated_at: this.now(), ...(changesAccess && { access_version: new Sql('access_version + 1') }) }
    return await this.write(params, () => {
      const { others_can } = access.loaded!.worktree!
      return {
        steps: [updateWhere(table, values, recordHolds(this.deps, access, table))],
        entries: [
          this.allow(
            access,
            {
              change: 'patched',
              fields: access.fields,
              ...(changesAccess && { before: { others_can }, after: { others_can: data.others_can } })
            },
            { kind: changesAccess ? 'access_change' : 'decision' }
          )
        ]
      }
    })
  }

  /** Takes the record and all that is in it; files on disk stay where they are. */
  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, () => ({
      steps: [
        ...holdTokens(this.deps.db.dialect, 's.worktree_id', access.resource_id!),
        deleteWhere(table, recordHolds(this.deps, access, table))
      ],
      entries: [this.allow(access, { change: 'removed' }, { kind: 'access_change' })],
      large: true
    }))
  }

  protected override async findPage(params: StoaParams): Promise<Paginated<Row>> {
    const $select = params.query?.['$select'] as string[] | undefined
    const needed = $select && [...new Set([...$select, 'others_can', 'worktree_id'])].filter((field) => field !== 'my_level')
    const page = await super.findPage(needed ? { ...params, query: { ...params.query, $select: needed } } : params)
    const { actor } = accessOf(params).who!
    const grants = await this.grantsOf(
      actor.user_id,
      page.data.map((record) => record['worktree_id'] as string)
    )
    const withLevel = (record: Row) => ({
      ...record,
      my_level: effectiveLevel(
        actor.role,
        grants.get(record['worktree_id'] as string) ?? null,
        record['others_can'] as OthersLevel
      )
    })
    return { ...page, data: page.data.map((record) => pick(withLevel(record), $select)) }
  }

  protected override present(record: Row, params: StoaParams): Row {
    const { target, who, method } = accessOf(params)
    if (method === 'find') return super.present(record, params)
    const my_level = effectiveLevel(who!.actor.role, target?.grant ?? null, record['others_can'] as OthersLevel)
    return pick({ ...super.present(record, { ...params, query: {} }), my_level }, params.query?.['$select'])
  }

  private async grantsOf(userId: string, worktreeIds: string[]): Promise<Map<string, GrantLevel>> {
    const { rows } = this.deps.db.dialect
    const found = await this.deps.db.read(
      `SELECT worktree_id, level FROM grants WHERE user_id = ? AND worktree_id IN (SELECT ${rows.at(0, 'text')} FROM ${rows.each})`,
      [userId, JSON.stringify(worktreeIds.map((id) => [id]))]
    )
    return new Map(found.map(({ worktree_id, level }) => [worktree_id as string, level as GrantLevel]))
  }

  private ownerGrant(worktree_id: string, params: StoaParams) {
    const access = accessOf(params)
    const { user_id } = access.who!.actor
    return insertWhere(
      tables.grants,
      { grant_id: this.deps.newId(), worktree_id, user_id, level: 'owner', granted_by: user_id, ...this.stamps(access) },
      [new Sql('EXISTS (SELECT 1 FROM worktrees WHERE worktree_id = ?)', worktree_id)]
    )
  }

  private makeOnDisk(data: WorktreeCreate, worktreeId: string): Promise<MadeWorktree> | null {
    if (data.repo_path === undefined) return null
    const { repoRoots, home } = this.deps.config
    return makeWorktree({ repoPath: data.repo_path, ref: data.ref ?? 'HEAD', roots: repoRoots, home, worktreeId })
  }
}
