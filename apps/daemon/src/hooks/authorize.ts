import type { NextFunction } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { decide, type Decision } from '@stoa/core/policy/decide'
import { accessOf, type Access, type Context } from './access.js'
import { disagreeingClaim } from './journal-entry.js'

/** Needs what the load hook has put there. Decides on what was loaded, and refuses before anything is done. */
export async function authorize(context: Context, next: NextFunction): Promise<void> {
  const access = accessOf(context.params)
  enforce(access)
  const reload = access.renew
  access.renew = async () => {
    await reload()
    enforce(access)
  }
  await next()
}

/** The order matters: what is invisible is not told that a claim was wrong. */
function enforce(access: Access): void {
  const { who, target } = access
  if (!who || !target) throw new StoaError('not_authenticated')
  const decision = decide(who.actor, access.action, target, { fields: access.fields, reason: access.reason })
  access.decision = decision
  if (decision.code === 'not_found') throw refuse(decision)
  const claim = disagreeingClaim(access)
  if (claim) throw refuseField(claim.field, claim.from)
  if (!decision.allowed) throw refuse(decision)
  if (access.immutable.length > 0) throw refuseField(access.immutable[0]!, 'data')
}

/** What is invisible is told nothing; what is visible is told what is missing. */
export function refuse({ code, need, have, rule, smallest_grant }: Decision): StoaError {
  if (code === 'allowed') throw new Error('nothing is refused by a decision that allows')
  return code === 'not_found' ? new StoaError(code) : new StoaError(code, { data: { need, have, rule, smallest_grant } })
}

function refuseField(field: string, from: 'data' | 'query'): StoaError {
  return from === 'data'
    ? new StoaError('immutable_field', { errors: [{ field, message: 'is set once and cannot be changed' }] })
    : new StoaError('parent_mismatch', { errors: [{ field, message: 'is not the parent of this record' }] })
}
