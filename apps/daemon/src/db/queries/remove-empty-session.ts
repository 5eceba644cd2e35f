import type { Dialect, Statement, Step } from '../database.js'
import { IS_EMPTY, keptBecause } from '../empty-session.js'

/**
 * Removes a session if it is still empty and nothing keeps it, by the same conditions that found it.
 *
 * On PostgreSQL the row is locked first, in a statement of its own. A DELETE alone looks for tasks and messages as they were
 * when it began: one that was being inserted meanwhile it would wait for, not see, and take away by the cascade. And only
 * FOR UPDATE keeps out inserts that come later: the foreign key's check takes FOR KEY SHARE, which an UPDATE of other
 * columns lets pass. Such an insert then finds no session and is refused. SQLite has one writer.
 */
export function removeEmptySession(dialect: Dialect, sessionId: string, youngAfter: string, allowed: Statement | null): Step[] {
  const remove: Step = {
    sql: `
      DELETE FROM sessions
      WHERE session_id = ? AND ${IS_EMPTY} AND (${keptBecause(dialect)}) IS NULL ${allowed ? `AND ${allowed.sql}` : ''}
      RETURNING session_id, version`,
    params: [sessionId, youngAfter, ...(allowed?.params ?? [])]
  }
  if (dialect.name === 'sqlite') return [remove]
  return [{ sql: 'SELECT session_id FROM sessions WHERE session_id = ? FOR UPDATE', params: [sessionId] }, remove]
}
