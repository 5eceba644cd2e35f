import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { isId } from '@stoa/core/ids'
import { accessOf, type Context } from './access.js'

/** The record is named by the id of the call. Needs the request context. */
export async function takeId(context: Context, next: NextFunction): Promise<void> {
  accessOf(context.params).resource_id = checkedId(context.id)
  await next()
}

export function checkedId(id: unknown): string {
  if (id === null || id === undefined)
    throw new StoaError('method_not_allowed', { message: 'Name one record: this is not offered on all of them.' })
  if (!isId(id)) throw new StoaError('invalid', { errors: [{ field: 'id', message: 'is not a UUIDv7 in lower case' }] })
  return id
}

/** For services that hang on one record (`tasks/:task_id/token`): the record is named by the path. Needs the request context. */
export function takeRouteId(name: string) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const id = context.params.route?.[name]
    if (!isId(id)) throw new StoaError('invalid', { errors: [{ field: name, message: 'is not a UUIDv7 in lower case' }] })
    accessOf(context.params).resource_id = id
    await next()
  }
}
