import type { Dialect, Step } from '../database.js'

/**
 * Stands before a removal that takes task tokens with it. On PostgreSQL a write holds its token and then waits for its session;
 * a removal that has the session and then waits for the token would wait for that write, and each deadlock costs a second
 * (6 in 10 removals beside three writers). Taking the tokens first, it waits before it has anything.
 */
export function holdTokens(dialect: Dialect, of: 's.worktree_id' | 's.session_id' | 't.task_id', id: string): Step[] {
  if (dialect.name === 'sqlite') return []
  return [
    {
      sql: `SELECT c.credential_id FROM credentials c
        JOIN tasks t ON t.task_id = c.task_id JOIN sessions s ON s.session_id = t.session_id
        WHERE ${of} = ? ORDER BY c.credential_id FOR UPDATE OF c`,
      params: [id],
      optional: true
    }
  ]
}
