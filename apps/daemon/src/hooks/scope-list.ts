import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { scopeOf } from '@stoa/core/policy/scope'
import type { Deps } from '../deps.js'
import { accessOf, type Context } from './access.js'
import { loadInto } from './load-into.js'

/** For `find`, in place of loading and deciding one record: the same policy as a predicate inside the query. */
export function scopeList(deps: Deps) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const access = accessOf(context.params)
    await loadInto(deps, access, 'token', null)
    access.target = null
    const scope = scopeOf(access.who!.actor, access.action)
    const { token, executor } = access.who!.actor
    if ((token || executor) && scope.anyOf.length === 0) throw new StoaError('token_scope')
    context.params.scope = scope
    await next()
  }
}
