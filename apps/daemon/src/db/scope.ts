import type { Scope, ScopeTerm } from '@stoa/core/policy/scope'
import type { Knex } from 'knex'

/** How a table reaches the worktree, the session and the person that its rows belong to. */
export interface ScopePath {
  /** SQL for the row's worktree id; without it, the worktree is that of the session. */
  worktree?: string
  /** SQL for the row's session id. */
  session?: string
  /** SQL for the row's user id. */
  user?: string
}

export const scopePaths: Record<string, ScopePath> = {
  users: { user: 'users.user_id' },
  api_keys: { user: 'api_keys.user_id' },
  worktrees: { worktree: 'worktrees.worktree_id' },
  grants: { worktree: 'grants.worktree_id', user: 'grants.user_id' },
  sessions: { worktree: 'sessions.worktree_id', session: 'sessions.session_id' },
  tasks: { session: 'tasks.session_id' },
  messages: { session: 'messages.session_id' },
  journal: { worktree: 'journal.worktree_id' }
}

/** What is known about a list beside its rows. */
export interface Asked {
  /** The fields that it was narrowed to. */
  query?: Record<string, unknown> | undefined
  /** Every row of it is counted, none is read. */
  counted?: boolean
}

/** Narrows a list to what its reader may get: inside the query, so that `total` and pages count only that. */
export function applyScope(query: Knex.QueryBuilder, table: string, scope: Scope, asked: Asked = {}): Knex.QueryBuilder {
  const path = scopePaths[table] ?? {}
  if (scope.within) query.whereRaw(`${path.session ?? 'NULL'} = ?`, [scope.within.session_id])
  const terms = scope.anyOf.map((term) => predicate(term, path, asked))
  if (terms.length === 0) return query.whereRaw('1 = 0')
  return query.where((any) => {
    for (const { sql, params } of terms) any.orWhereRaw(sql, params)
  })
}

interface Predicate {
  sql: string
  params: string[]
}

function predicate(term: ScopeTerm, path: ScopePath, asked: Asked): Predicate {
  switch (term.see) {
    case 'everything':
      return { sql: '1 = 1', params: [] }
    case 'own':
      return { sql: `${path.user} = ?`, params: [term.user_id] }
    case 'owned_worktrees':
      return inWorktrees(path, asked, term.user_id, {
        all: `SELECT g.worktree_id FROM grants g WHERE g.user_id = ? AND g.level = 'owner'`,
        one: (worktree) =>
          `EXISTS (SELECT 1 FROM grants g WHERE g.worktree_id = ${worktree} AND g.user_id = ? AND g.level = 'owner')`
      })
    case 'visible_worktrees':
      return inWorktrees(path, asked, term.user_id, {
        all: `SELECT w.worktree_id FROM worktrees w WHERE w.others_can <> 'none'
          UNION SELECT g.worktree_id FROM grants g WHERE g.user_id = ?`,
        one: (worktree) =>
          `EXISTS (SELECT 1 FROM worktrees w WHERE w.worktree_id = ${worktree} AND (w.others_can <> 'none'
          OR EXISTS (SELECT 1 FROM grants g WHERE g.worktree_id = w.worktree_id AND g.user_id = ?)))`
      })
  }
}

/**
 * A list of one session or worktree is asked once, not for each row: PostgreSQL guessed how many rows would be left, and read
 * all of a session for a page of it. What counts every row starts from the worktrees that the reader may see, and a page walks
 * along its order until it is full.
 */
function inWorktrees(
  { worktree, session }: ScopePath,
  { query = {}, counted }: Asked,
  userId: string,
  sql: { all: string; one(worktree: string): string }
): Predicate {
  const { session_id, worktree_id } = query
  if (session && typeof session_id === 'string') return { sql: sql.one(worktreeOf('?')), params: [session_id, userId] }
  if (worktree && typeof worktree_id === 'string') return { sql: sql.one('?'), params: [worktree_id, userId] }
  if (counted && !Object.keys(query).some((field) => field.endsWith('_id'))) {
    const all = worktree
      ? `${worktree} IN (${sql.all})`
      : `${session} IN (SELECT s.session_id FROM sessions s WHERE s.worktree_id IN (${sql.all}))`
    return { sql: all, params: [userId] }
  }
  return { sql: sql.one(worktree ?? worktreeOf(session!)), params: [userId] }
}

function worktreeOf(session: string): string {
  return `(SELECT s.worktree_id FROM sessions s WHERE s.session_id = ${session})`
}
