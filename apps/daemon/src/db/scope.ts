import type { Scope, ScopeTerm } from '@stoa/core/policy/scope'
import type { Knex } from 'knex'

/** How a table reaches the worktree, the session and the person that its rows belong to. */
export interface ScopePath {
  /** SQL for the row's worktree id. */
  worktree?: string
  /** SQL for the row's session id. */
  session?: string
  /** SQL for the row's user id. */
  user?: string
}

const throughSession = (table: string) => `(SELECT s.worktree_id FROM sessions s WHERE s.session_id = ${table}.session_id)`

export const scopePaths: Record<string, ScopePath> = {
  users: { user: 'users.user_id' },
  api_keys: { user: 'api_keys.user_id' },
  worktrees: { worktree: 'worktrees.worktree_id' },
  grants: { worktree: 'grants.worktree_id', user: 'grants.user_id' },
  sessions: { worktree: 'sessions.worktree_id', session: 'sessions.session_id' },
  tasks: { worktree: throughSession('tasks'), session: 'tasks.session_id' },
  messages: { worktree: throughSession('messages'), session: 'messages.session_id' },
  journal: { worktree: 'journal.worktree_id' }
}

/** Narrows a list to what its reader may get: inside the query, so that `total` and pages count only that. */
export function applyScope(query: Knex.QueryBuilder, table: string, scope: Scope): Knex.QueryBuilder {
  const path = scopePaths[table] ?? {}
  if (scope.within) query.whereRaw(`${path.session ?? 'NULL'} = ?`, [scope.within.session_id])
  const terms = scope.anyOf.map((term) => predicate(term, path))
  if (terms.length === 0) return query.whereRaw('1 = 0')
  return query.where((any) => {
    for (const { sql, params } of terms) any.orWhereRaw(sql, params)
  })
}

function predicate(term: ScopeTerm, path: ScopePath): { sql: string; params: string[] } {
  switch (term.see) {
    case 'everything':
      return { sql: '1 = 1', params: [] }
    case 'own':
      return { sql: `${path.user} = ?`, params: [term.user_id] }
    case 'owned_worktrees':
      return {
        sql: `EXISTS (SELECT 1 FROM grants g WHERE g.worktree_id = ${path.worktree} AND g.user_id = ? AND g.level = 'owner')`,
        params: [term.user_id]
      }
    case 'visible_worktrees':
      return {
        sql: `EXISTS (SELECT 1 FROM worktrees w WHERE w.worktree_id = ${path.worktree} AND (w.others_can <> 'none'
          OR EXISTS (SELECT 1 FROM grants g WHERE g.worktree_id = w.worktree_id AND g.user_id = ?)))`,
        params: [term.user_id]
      }
  }
}
