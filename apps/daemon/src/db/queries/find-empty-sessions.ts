import type { Database } from '../database.js'
import { IS_EMPTY, keptBecause, type KeptBecause } from '../empty-session.js'

export interface EmptySession {
  session_id: string
  worktree_id: string
  created_at: string
  created_by: string | null
  /** Where its worktree lies on disk; null when it is a record only. */
  path: string | null
  kept: KeptBecause | null
}

/** How many sessions one statement looks at: none runs long, however many there are. */
const STRETCH = 1_000

/**
 * All empty sessions, oldest first, with the reason why one is kept. No index knows which sessions have no rows (the counters
 * do not count here), so this walks along the primary key, in stretches, and asks two indexes for each session.
 */
export async function* findEmptySessions(db: Database, youngAfter: string): AsyncGenerator<EmptySession> {
  for (let start: string | null = ''; start !== null;) {
    const end: string | null = await endOfStretch(db, start)
    const rows = await db.read(
      `SELECT sessions.session_id, sessions.worktree_id, sessions.created_at, sessions.created_by, w.path,
        ${keptBecause(db.dialect)} AS kept
      FROM sessions JOIN worktrees w ON w.worktree_id = sessions.worktree_id
      WHERE sessions.session_id > ? ${end === null ? '' : 'AND sessions.session_id <= ?'} AND ${IS_EMPTY}
      ORDER BY sessions.session_id`,
      end === null ? [youngAfter, start] : [youngAfter, start, end]
    )
    yield* rows as unknown as EmptySession[]
    start = end
  }
}

/** Null: what is left is shorter than a stretch. */
async function endOfStretch(db: Database, start: string): Promise<string | null> {
  const [row] = await db.read('SELECT session_id FROM sessions WHERE session_id > ? ORDER BY session_id LIMIT 1 OFFSET ?', [
    start,
    STRETCH - 1
  ])
  return (row?.['session_id'] as string | undefined) ?? null
}
