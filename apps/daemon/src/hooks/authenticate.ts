import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import type { AuthenticationClass } from '../services/authentication/authentication.class.js'
import { accessOf, type Context } from './access.js'

/**
 * Takes the credential that the call carries and checks what can be checked without the database: the signature, the
 * form. Whether it lives, and whose it is, is read in the same statement as the record. A call without a credential is
 * refused, whoever makes it: no provider is not a pass.
 */
export async function authenticate(context: Context, next: NextFunction): Promise<void> {
  const service = context.app.service('authentication') as unknown as AuthenticationClass
  accessOf(context.params).shown = service.recognise(context.params.authentication)
  if (!accessOf(context.params).shown) throw new StoaError('not_authenticated')
  await next()
}
