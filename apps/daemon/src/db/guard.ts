import { TERMINAL_STATUSES } from '@stoa/core/domain/task-state'
import type { Statement } from './database.js'

/** What a decision rested on, besides the record itself. Every change of a right bumps one of these versions. */
export interface AccessGuard {
  credential_id: string
  user_access_version: number
  worktree: { worktree_id: string; access_version: number } | null
}

const ended = TERMINAL_STATUSES.map((status) => `'${status}'`).join(', ')

/**
 * True in the WHERE of a write while the decision still stands: the credential lives (a task token as long as its task), and neither the user's nor the
 * worktree's rights have changed since they were read.
 */
export function guardHolds(guard: AccessGuard): Statement {
  const person = `EXISTS (SELECT 1 FROM credentials gc JOIN users gu ON gu.user_id = gc.user_id
    WHERE gc.credential_id = ? AND gc.revoked_at IS NULL AND gu.access_version = ?
      AND (gc.task_id IS NULL OR EXISTS (SELECT 1 FROM tasks gt WHERE gt.task_id = gc.task_id AND gt.status NOT IN (${ended}))))`
  const params = [guard.credential_id, guard.user_access_version]
  if (!guard.worktree) return { sql: person, params }
  return {
    sql: `${person} AND EXISTS (SELECT 1 FROM worktrees gw WHERE gw.worktree_id = ? AND gw.access_version = ?)`,
    params: [...params, guard.worktree.worktree_id, guard.worktree.access_version]
  }
}
