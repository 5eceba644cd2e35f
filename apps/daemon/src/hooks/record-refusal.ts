import type { NextFunction } from '@feathersjs/feathers'
import { StoaError, catalogue, type ErrorCode } from '@stoa/core/errors'
import type { Deps } from '../deps.js'
import { accessOf, type Context } from './access.js'
import { commitAndCount } from './commit-unit.js'
import { journalEntry } from './journal-entry.js'

/** Refusals that are a decision. A malformed request, an unknown method or a failing database is none. */
const recorded: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'immutable_field',
  'parent_mismatch',
  'not_authenticated',
  'level_too_low',
  'role_too_low',
  'token_scope',
  'not_owner',
  'not_found',
  'illegal_transition',
  'lease_held',
  'last_owner',
  'nothing_to_compact',
  'pinned',
  'duplicate',
  'version_conflict'
])

/**
 * A refusal is in the journal before it is answered. If it cannot be written, the answer is 503: never an unaudited one.
 * Stands outside authentication, so that a missing or revoked credential is recorded too.
 */
export function recordRefusal(deps: Deps) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof StoaError) || !recorded.has(error.code)) throw error
      const access = accessOf(context.params)
      const entry = journalEntry(deps, access, {
        decision: 'deny',
        reason_code: error.code,
        reason: catalogue[error.code].message
      })
      await commitAndCount(deps, { steps: [], entries: [entry] })
      throw new StoaError(error.code, {
        message: error.message,
        data: { ...error.data, decision_id: entry.id },
        errors: error.errors,
        cause: error.cause
      })
    }
  }
}
