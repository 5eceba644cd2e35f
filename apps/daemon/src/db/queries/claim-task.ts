import type { Leasing } from '@stoa/core/schema/leases'
import type { Dialect, Statement, Step } from '../database.js'
import { tables } from '../tables.js'
import { Sql, returning } from '../write.js'
import { ACTIVE, type Candidate } from './queued-tasks.js'

export interface NewLease {
  lease_id: string
  executor_id: string
  user_id: string
  executor: Leasing['executor']
  token: { credential_id: string; secret_hash: string }
  now: string
  expires_at: string
}

/**
 * Hands one queued task to one executor. The task's row decides: whoever changes it from `queued` first has it. On PostgreSQL
 * a row that somebody else is about to claim is passed by instead of waited for. That no other task of the session is active
 * is looked up here, and seen to by a unique index when two claim in one session at the same moment.
 */
export function claimTask(dialect: Dialect, lease: NewLease, candidate: Candidate, allowed: Statement): Step[] {
  const { lease_id, executor_id, user_id, executor, token, now, expires_at } = lease
  const { task_id, session, author } = candidate
  const key = [user_id, executor.name, executor.host, executor.pid]
  const skip = dialect.name === 'postgres' ? ' FOR UPDATE SKIP LOCKED' : ''
  const rights = authorStands(dialect, candidate)
  return [
    {
      sql: `INSERT INTO executors (executor_id, user_id, name, host, pid, agents, version, created_at, seen_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (user_id, name, host, pid) DO UPDATE SET agents = excluded.agents, version = excluded.version, seen_at = excluded.seen_at`,
      params: [executor_id, ...key, JSON.stringify(executor.agents), executor.version, now, now],
      optional: true
    },
    {
      sql: `UPDATE tasks SET status = 'dispatching', attempt = attempt + 1, lease_id = ?, because = 'was given to an executor',
          executor_id = (SELECT e.executor_id FROM executors e WHERE e.user_id = ? AND e.name = ? AND e.host = ? AND e.pid = ?),
          updated_at = ?, version = version + 1
        WHERE task_id = (SELECT q.task_id FROM tasks q WHERE q.task_id = ? AND q.status = 'queued'${skip})
          AND NOT EXISTS (SELECT 1 FROM tasks o WHERE o.session_id = ? AND o.status IN (${ACTIVE}))
          AND ${rights.sql} AND ${allowed.sql}
        RETURNING ${returning(tables.tasks)}`,
      params: [lease_id, ...key, now, task_id, session['session_id'] as string, ...rights.params, ...allowed.params]
    },
    {
      sql: `INSERT INTO credentials (credential_id, kind, user_id, secret_hash, task_id, session_id, expires_at, created_at, created_by, updated_at)
        VALUES (?, 'task_token', ?, ?, ?, ?, ?, ?, ?, ?)`,
      params: [
        token.credential_id,
        author['user_id'] as string,
        token.secret_hash,
        task_id,
        session['session_id'] as string,
        expires_at,
        now,
        user_id,
        now
      ],
      optional: true
    },
    {
      sql: `INSERT INTO leases (lease_id, task_id, executor_id, user_id, credential_id, attempt, created_at, renewed_at, expires_at)
        SELECT t.lease_id, t.task_id, t.executor_id, CAST(? AS text), CAST(? AS text), t.attempt, CAST(? AS text), CAST(? AS text), CAST(? AS text)
        FROM tasks t WHERE t.task_id = ?`,
      params: [user_id, token.credential_id, now, now, expires_at, task_id],
      optional: true
    }
  ]
}

/** What was decided about the author still stands. */
export function authorStands(dialect: Dialect, { author, worktree }: Candidate): Sql {
  return new Sql(
    `EXISTS (SELECT 1 FROM users cu WHERE cu.user_id = ? AND cu.access_version = ?${dialect.holdRows('cu')})
      AND EXISTS (SELECT 1 FROM worktrees cw WHERE cw.worktree_id = ? AND cw.access_version = ?${dialect.holdRows('cw')})`,
    author['user_id'] as string,
    author['access_version'] as number,
    worktree['worktree_id'] as string,
    worktree['access_version'] as number
  )
}
