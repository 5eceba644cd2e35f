import type { Statement, Step } from '../database.js'
import { recountSession } from './recount-session.js'

export interface Removal {
  removal_id: string
  session_id: string
  created_at: string
  created_by: string
  expires_at: string
}

/**
 * Leaves the first `keep` live messages; the others become tombstones that know what removed them. The session is written
 * first, as in every change of its rows: whoever comes second waits there instead of in the middle.
 */
export function truncateSession(removal: Removal, keep: number, allowed: Statement): Step[] {
  const { removal_id, session_id, created_at, created_by, expires_at } = removal
  const kept = `(SELECT k.seq FROM messages k WHERE k.session_id = ? AND k.deleted_at IS NULL ORDER BY k.seq LIMIT 1 OFFSET ?)`
  return [
    lockSession(session_id, created_at, allowed),
    {
      sql: `UPDATE messages SET deleted_at = ?, updated_at = ?, removal_id = ?
        WHERE session_id = ? AND deleted_at IS NULL AND seq > ${keep === 0 ? '0' : kept}`,
      params: [created_at, created_at, removal_id, session_id, ...(keep === 0 ? [] : [session_id, keep - 1])],
      optional: true
    },
    { sql: 'DELETE FROM removals WHERE session_id = ? AND expires_at <= ?', params: [session_id, created_at], optional: true },
    {
      sql: `INSERT INTO removals (removal_id, session_id, created_at, created_by, expires_at)
        SELECT CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS text)
        WHERE EXISTS (SELECT 1 FROM messages WHERE removal_id = ?)`,
      params: [removal_id, session_id, created_at, created_by, expires_at, removal_id],
      optional: true
    },
    ...recountSession(session_id),
    affectedBy(removal_id, session_id, 'IS NOT NULL')
  ]
}

/** Brings back what one truncation removed, if that can still be undone; what was written since then stays. */
export function undoRemoval(removalId: string, sessionId: string, now: string, allowed: Statement): Step[] {
  return [
    lockSession(sessionId, now, allowed),
    {
      sql: 'DELETE FROM removals WHERE removal_id = ? AND session_id = ? AND expires_at > ? RETURNING removal_id',
      params: [removalId, sessionId, now]
    },
    {
      sql: 'UPDATE messages SET deleted_at = NULL, updated_at = ? WHERE removal_id = ? AND deleted_at IS NOT NULL',
      params: [now, removalId],
      optional: true
    },
    ...recountSession(sessionId),
    affectedBy(removalId, sessionId, 'IS NULL')
  ]
}

function lockSession(sessionId: string, now: string, allowed: Statement): Step {
  return {
    sql: `UPDATE sessions SET version = version + 1, updated_at = ? WHERE session_id = ? AND ${allowed.sql} RETURNING session_id`,
    params: [now, sessionId, ...allowed.params]
  }
}

function affectedBy(removalId: string, sessionId: string, deleted: 'IS NULL' | 'IS NOT NULL'): Step {
  return {
    sql: `SELECT version, message_count,
        (SELECT COUNT(*) FROM messages WHERE removal_id = ? AND deleted_at ${deleted}) AS affected
      FROM sessions WHERE session_id = ?`,
    params: [removalId, sessionId]
  }
}
