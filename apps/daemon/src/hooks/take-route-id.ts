import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { isId } from '@stoa/core/ids'
import { accessOf, type Context } from './access.js'

/** For services that hang on one record (`tasks/:task_id/token`): the record is named by the path. Needs the request context. */
export function takeRouteId(name: string) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const id = context.params.route?.[name]
    if (!isId(id)) throw new StoaError('invalid', { errors: [{ field: name, message: 'is not a UUIDv7 in lower case' }] })
    accessOf(context.params).resource_id = id
    await next()
  }
}
