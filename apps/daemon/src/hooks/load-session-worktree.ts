import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import type { ResourceType } from '@stoa/core/policy/actions'
import type { Deps } from '../deps.js'
import { accessOf, type Context } from './access.js'
import { loadInto } from './load-into.js'

/**
 * Shared by sessions, tasks and messages. Finds out which session and worktree a call is about, and loads them together
 * with the record, the caller's user row and their grant in one statement.
 *
 * The session comes from `context.id` or the path (the session itself, or the stored row of the task or message), or, where
 * there is no row yet, from the `session_id` that a create names in its data or query. A patch or a remove therefore needs no
 * `session_id`; one that is named all the same is a claim: it is compared with the stored row and never used to find it.
 * Needs the credential (authenticate) and checked ids (validate).
 */
export function loadSessionWorktree(deps: Deps, type: InSession) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const [target, id] = whatToLoad(context, type)
    await loadInto(deps, accessOf(context.params), target, id)
    await next()
  }
}

/** `removed_message` is a message of which only the tombstone is left. */
type InSession = 'session' | 'task' | 'message' | 'removed_message'

function whatToLoad(context: Context, type: InSession): [ResourceType, string] {
  const { resource_id } = accessOf(context.params)
  if (resource_id) return [type, resource_id]
  return type === 'session'
    ? ['worktree', theOneParent(context.data, 'worktree_id')]
    : ['session', theOneParent(context.data, 'session_id')]
}

function theOneParent(data: unknown, field: string): string {
  const parents = new Set((Array.isArray(data) ? data : [data]).map((item: Record<string, string>) => item[field]))
  const [parent] = parents
  if (parents.size !== 1 || !parent)
    throw new StoaError('invalid', { errors: [{ field, message: 'must be the same in the whole list' }] })
  return parent
}
