import { FeathersError } from '@feathersjs/errors'
import { StoaError, type ErrorCode } from '@stoa/core/errors'

const names: Record<number, [name: string, className: string]> = {
  400: ['BadRequest', 'bad-request'],
  401: ['NotAuthenticated', 'not-authenticated'],
  403: ['Forbidden', 'forbidden'],
  404: ['NotFound', 'not-found'],
  405: ['MethodNotAllowed', 'method-not-allowed'],
  409: ['Conflict', 'conflict'],
  412: ['PreconditionFailed', 'precondition-failed'],
  413: ['PayloadTooLarge', 'payload-too-large'],
  429: ['TooManyRequests', 'too-many-requests'],
  500: ['GeneralError', 'general-error'],
  503: ['Unavailable', 'unavailable']
}

/** A catalogue error in the shape that Feathers clients know. Over a socket there is no precondition: 412 is 409 there. */
export function toFeathersError(error: StoaError, data: Record<string, unknown>, overHttp: boolean): FeathersError {
  const status = error.code === 'version_conflict' && !overHttp ? 409 : error.status
  const [name, className] = names[status]!
  return new FeathersError(error.message, name, status, className, {
    code: error.code,
    ...error.data,
    ...data,
    ...(error.errors.length > 0 && { errors: error.errors })
  })
}

/** An error of Feathers' own (an unknown path, a method that is not offered) by the catalogue's code for its status. */
export function toStoaError(error: unknown): StoaError {
  if (error instanceof StoaError) return error
  const status = error instanceof FeathersError ? error.code : 500
  return new StoaError(codeForStatus[status] ?? 'internal', { cause: error })
}

const codeForStatus: Record<number, ErrorCode> = {
  400: 'invalid',
  401: 'not_authenticated',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'too_large'
}
