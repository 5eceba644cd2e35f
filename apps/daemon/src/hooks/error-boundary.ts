import type { NextFunction } from '@feathersjs/feathers'
import type { Deps } from '../deps.js'
import { toFeathersError, toStoaError } from '../http/feathers-errors.js'
import { accessOf, type Context } from './access.js'

/**
 * Whatever is thrown inside leaves as a catalogue error: no SQL, path or stack; the cause goes to the log.
 * Needs the request context. Writes the one log line of the request.
 */
export function errorBoundary({ logger, metrics }: Deps) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const access = accessOf(context.params)
    const line = () => ({
      request_id: access.request.request_id,
      actor: access.who?.actor.user_id ?? null,
      action: access.action,
      target: access.resource_id,
      ms: Math.round((performance.now() - access.request.started) * 10) / 10
    })
    try {
      await next()
      metrics.observe(access.action, 'ok', access.request.started)
      logger.info({ ...line(), outcome: 'ok' })
    } catch (thrown) {
      const error = toStoaError(thrown)
      metrics.observe(access.action, error.code, access.request.started)
      if (error.status >= 500) logger.error({ ...line(), outcome: error.code, err: error.cause ?? error })
      else logger.info({ ...line(), outcome: error.code })
      throw toFeathersError(error, { request_id: access.request.request_id }, access.request.transport === 'rest')
    }
  }
}
