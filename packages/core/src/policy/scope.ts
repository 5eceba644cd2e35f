import type { SessionId, UserId } from '../ids.js'
import { policyOf, visibility, type Rule } from './actions.js'
import type { Actor } from './decide.js'
import { roleReaches } from './levels.js'

/**
 * The policy as a predicate for lists: a record is in the list exactly when `decide` would let the caller get it.
 * Data, not SQL: `apps/daemon/src/db/scope.ts` turns each term into a condition.
 */
export interface Scope {
  /** A record is seen when one of these holds; an empty list sees nothing. */
  anyOf: ScopeTerm[]
  /** A task token sees nothing outside its session. */
  within: { session_id: SessionId } | null
}

export type ScopeTerm =
  | { see: 'everything' }
  /** A grant on the worktree, or `others_can` above none. */
  | { see: 'visible_worktrees'; user_id: UserId }
  | { see: 'owned_worktrees'; user_id: UserId }
  | { see: 'own'; user_id: UserId }

export function scopeOf(actor: Actor, action: string): Scope {
  const policy = policyOf(action)
  if (!policy || policy.executor !== actor.executor || (actor.token && policy.token !== 'session'))
    return { anyOf: [], within: null }
  const terms = visibility[policy.resource].flatMap((rule) => termOf(rule, actor))
  return {
    anyOf: terms.some((term) => term.see === 'everything') ? [{ see: 'everything' }] : terms,
    within: actor.token && { session_id: actor.token.session_id }
  }
}

function termOf(rule: Rule, actor: Actor): ScopeTerm[] {
  switch (rule.by) {
    case 'anyone':
    case 'signed_in':
      return [{ see: 'everything' }]
    case 'role':
      return roleReaches(actor.role, rule.role) ? [{ see: 'everything' }] : []
    case 'self':
      return [{ see: 'own', user_id: actor.user_id }]
    case 'break_glass':
      return []
    case 'level':
      if (rule.level === 'view') return [{ see: 'visible_worktrees', user_id: actor.user_id }]
      if (rule.level === 'owner')
        return roleReaches(actor.role, 'member') ? [{ see: 'owned_worktrees', user_id: actor.user_id }] : []
      throw new Error(`no list predicate for the level ${rule.level}`)
  }
}
