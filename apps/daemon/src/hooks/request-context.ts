import type { NextFunction } from '@feathersjs/feathers'
import type { Transport } from '@stoa/core/journal/entry'
import { policyOf } from '@stoa/core/policy/actions'
import type { Deps } from '../deps.js'
import type { Access, Context } from './access.js'

/** First of all: gives the request an id, and the empty record of its way. */
export function requestContext(deps: Deps, service: string) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const action = `${service}.${context.method}`
    const access: Access = {
      request: {
        request_id: deps.newId(),
        ip: context.params.ip ?? null,
        transport: transportOf(context.params.provider),
        started: performance.now()
      },
      action,
      service,
      method: context.method,
      resource: policyOf(action)?.resource ?? 'daemon',
      shown: null,
      resource_id: null,
      claims: [],
      fields: [],
      immutable: [],
      reason: false,
      ifMatch: null,
      who: null,
      loaded: null,
      target: null,
      decision: null,
      decision_id: null,
      repeated: false,
      renew: () => Promise.reject(new Error('nothing was loaded yet'))
    }
    context.params = { ...context.params, access }
    await next()
    if (!context.http) return
    context.http.headers = {
      ...context.http.headers,
      'X-Request-Id': access.request.request_id,
      ...(access.decision_id && { 'X-Decision-Id': access.decision_id })
    }
    if (access.repeated) context.http.status = 200
  }
}

function transportOf(provider: string | undefined): Transport {
  return provider === 'rest' || provider === 'socketio' ? provider : 'internal'
}
