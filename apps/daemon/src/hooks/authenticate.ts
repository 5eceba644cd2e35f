import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import type { Deps } from '../deps.js'
import { accessOf, type Context } from './access.js'

/**
 * Takes the credential that the call carries and checks what can be checked without the database: the signature, the
 * form. Whether it lives, and whose it is, is read in the same statement as the record. A call without a credential is
 * refused, whoever makes it: no provider is not a pass.
 */
export function authenticate({ credentials }: Deps) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const shown = credentials.recognise(context.params.authentication)
    if (!shown) throw new StoaError('not_authenticated')
    accessOf(context.params).shown = shown
    await next()
  }
}
