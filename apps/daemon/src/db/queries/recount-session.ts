import type { Step } from '../database.js'
import { tables } from '../tables.js'
import { returning } from '../write.js'

/** The live messages of the session that is being updated. */
const live = 'messages m WHERE m.session_id = sessions.session_id AND m.deleted_at IS NULL'

/**
 * Derives the counters of a session from its rows, after a change of many of them or of a boundary. Appending and removing
 * one message count by themselves: this reads every live row. Comes after a step that has locked the session.
 */
export function recountSession(sessionId: string): Step[] {
  return [
    {
      sql: `UPDATE sessions SET message_count = (SELECT COUNT(*) FROM ${live}),
        boundary_seq = COALESCE((SELECT MAX(m.boundary_seq) FROM ${live} AND m.boundary_seq IS NOT NULL), 0)
        WHERE session_id = ?`,
      params: [sessionId],
      optional: true
    },
    recountTokens(sessionId)
  ]
}

/** What the context holds: what lies behind the boundary, and the boundary itself. */
export function recountTokens(sessionId: string): Step {
  return {
    sql: `UPDATE sessions SET tokens_estimated =
        COALESCE((SELECT SUM(m.tokens_estimated) FROM ${live} AND m.seq > sessions.boundary_seq AND m.boundary_seq IS NULL), 0)
        + COALESCE((SELECT m.tokens_estimated FROM ${live} AND m.boundary_seq = sessions.boundary_seq
          ORDER BY m.seq + 0 DESC LIMIT 1), 0)
      WHERE session_id = ?
      RETURNING ${returning(tables.sessions)}`,
    params: [sessionId]
  }
}
