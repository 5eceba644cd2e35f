import type { TaskStatus } from '@stoa/core/domain/task-state'
import type { Database } from '../database.js'

export interface LostLease {
  lease_id: string
  task_id: string
  session_id: string
  worktree_id: string
  status: TaskStatus
  attempt: number
}

/** Leases that were not renewed in time and still have their task, the longest lost first. */
export async function lostLeases(db: Database, now: string): Promise<LostLease[]> {
  const rows = await db.read(
    `SELECT l.lease_id, t.task_id, t.session_id, s.worktree_id, t.status, t.attempt
    FROM leases l
    JOIN tasks t ON t.task_id = l.task_id AND t.lease_id = l.lease_id
    JOIN sessions s ON s.session_id = t.session_id
    WHERE l.ended_at IS NULL AND l.expires_at <= ? ORDER BY l.expires_at LIMIT 100`,
    [now]
  )
  return rows as unknown as LostLease[]
}
