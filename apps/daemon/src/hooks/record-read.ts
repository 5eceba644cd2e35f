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
    const entry = allowedEntry(deps, access, effectOf(context.result))
    await commitAndCount(deps, { steps: [], entries: [entry] })
    access.decision_id = entry.id
  }
}

/** A page, or one thing. */
function effectOf(result: unknown): Effect {
  const data = (result as { data?: unknown }).data
  return Array.isArray(data) ? { change: 'listed', count: data.length } : { change: 'read' }
}
