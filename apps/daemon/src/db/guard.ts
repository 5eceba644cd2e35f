import { TERMINAL_STATUSES } from '@stoa/core/domain/task-state'
import type { Dialect, Statement, Value } from './database.js'

/** What a decision rested on, besides the record itself. Every change of a right bumps one of these versions. */
export interface AccessGuard {
  credential_id: string
  user: { user_id: string; access_version: number }
  worktree: { worktree_id: string; access_version: number } | null
}

const ended = TERMINAL_STATUSES.map((status) => `'${status}'`).join(', ')

/**
 * True in the WHERE of a write while the decision still stands: the credential lives (a task token as long as its task), and
 * neither the user's nor the worktree's rights have changed since they were read. `changed` is the row that the write
 * itself changes: that one is compared directly, because a row cannot be held for others and changed at once.
 */
export function guardHolds(dialect: Dialect, guard: AccessGuard, changed?: { table: string; id: string | null }): Statement {
  const parts: string[] = []
  const params: Value[] = []
  const add = (sql: string, ...values: Value[]) => {
    parts.push(sql)
    params.push(...values)
  }

  const { user, worktree } = guard
  const changesUser = changed?.table === 'users' && changed.id === user.user_id
  const changesWorktree = changed?.table === 'worktrees' && changed.id === worktree?.worktree_id
  add(
    `EXISTS (SELECT 1 FROM credentials gc WHERE gc.credential_id = ? AND gc.revoked_at IS NULL
      AND (gc.task_id IS NULL OR EXISTS (SELECT 1 FROM tasks gt WHERE gt.task_id = gc.task_id AND gt.status NOT IN (${ended})))${dialect.holdRows('gc')})`,
    guard.credential_id
  )
  if (changesUser) add('access_version = ?', user.access_version)
  else
    add(
      `EXISTS (SELECT 1 FROM users gu WHERE gu.user_id = ? AND gu.access_version = ?${dialect.holdRows('gu')})`,
      user.user_id,
      user.access_version
    )
  if (changesWorktree) add('access_version = ?', worktree!.access_version)
  else if (worktree) {
    add(
      `EXISTS (SELECT 1 FROM worktrees gw WHERE gw.worktree_id = ? AND gw.access_version = ?${dialect.holdRows('gw')})`,
      worktree.worktree_id,
      worktree.access_version
    )
  }
  return { sql: parts.join(' AND '), params }
}
