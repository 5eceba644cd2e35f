import { ACTIVE_STATUSES } from '@stoa/core/domain/task-state'
import type { GrantLevel } from '@stoa/core/policy/levels'
import type { Database, Row } from '../database.js'
import { decodeRow, tables } from '../tables.js'

export const ACTIVE = ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ')

/** A task that could be handed out, and where its author stands now. */
export interface Candidate {
  task_id: string
  attempt: number
  session: Row
  worktree: Row
  author: Row
  grant: GrantLevel | null
  /** The grant of the one who asks. */
  own_grant: GrantLevel | null
}

/**
 * The first queued task of each session in which none is active, oldest first, for an executor that runs these agents. Only
 * where its user could have prompted too, so that those who could not do not fill the list; `decide` has the last word.
 */
export async function queuedTasks(db: Database, userId: string, agents: readonly string[], limit: number): Promise<Candidate[]> {
  const rows = await db.read(
    `SELECT t.task_id, t.attempt, s.session_id, s.created_by AS session_created_by, w.worktree_id, w.others_can,
      w.access_version AS worktree_access_version, u.user_id, u.role, u.active, u.access_version, g.level,
      lg.level AS own_level
    FROM tasks t
    JOIN sessions s ON s.session_id = t.session_id
    JOIN worktrees w ON w.worktree_id = s.worktree_id
    JOIN users u ON u.user_id = t.created_by
    LEFT JOIN grants g ON g.worktree_id = w.worktree_id AND g.user_id = u.user_id
    LEFT JOIN grants lg ON lg.worktree_id = w.worktree_id AND lg.user_id = ?
    WHERE t.status = 'queued' AND (COALESCE(lg.level, w.others_can) IN ('prompt', 'all', 'owner')
        OR (COALESCE(lg.level, w.others_can) = 'session' AND s.created_by = ?))
      AND (t.agent IS NULL OR t.agent IN (SELECT ${db.dialect.rows.at(0, 'text')} FROM ${db.dialect.rows.each}))
      AND NOT EXISTS (SELECT 1 FROM tasks o WHERE o.session_id = t.session_id AND o.status IN (${ACTIVE}))
      AND NOT EXISTS (SELECT 1 FROM tasks o WHERE o.session_id = t.session_id AND o.status = 'queued' AND o.task_id < t.task_id)
    ORDER BY t.task_id LIMIT ?`,
    [userId, userId, JSON.stringify(agents.map((agent) => [agent])), limit]
  )
  return rows.map((row) => ({
    task_id: row['task_id'] as string,
    attempt: row['attempt'] as number,
    session: { session_id: row['session_id'], created_by: row['session_created_by'] },
    worktree: {
      worktree_id: row['worktree_id'],
      others_can: row['others_can'],
      access_version: row['worktree_access_version']
    },
    author: decodeRow(tables.users, row, true),
    grant: row['level'] as GrantLevel | null,
    own_grant: row['own_level'] as GrantLevel | null
  }))
}
