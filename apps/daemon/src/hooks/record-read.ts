import type { NextFunction } from '@feathersjs/feathers'
import type { Effect } from '@stoa/core/journal/entry'
import type { Deps } from '../deps.js'
import { accessOf, type Context } from './access.js'
import { commitAndCount } from './commit-unit.js'
import { allowedEntry } from './journal-entry.js'

/** A read is answered only after its journal row is committed. Innermost: it knows what was found. */
export function recordRead(deps: Deps) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    await next()
    const access = accessOf(context.params)
    const effect: Effect = context.method === 'get' ? { change: 'read' } : { change: 'listed', count: countOf(context.result) }
    const entry = allowedEntry(deps, access, effect)
    await commitAndCount(deps, { steps: [], entries: [entry] })
    access.decision_id = entry.id
  }
}

function countOf(result: unknown): number {
  const data = (result as { data?: unknown }).data
  return Array.isArray(data) ? data.length : 1
}
