import { StoaError } from '@stoa/core/errors'
import { CONTEXT_LIMIT } from '@stoa/core/schema/sessions'
import { readContext, readContextStatus, type ContextStatus } from '../../db/queries/read-context.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'

/** How often the context is read again when its past was changed meanwhile. */
const ATTEMPTS = 20

/** What the model is given next: the boundary, and what lies behind it. */
export class SessionContextClass {
  constructor(private readonly deps: Deps) {}

  async find(params: StoaParams) {
    const { db } = this.deps
    const { session_id } = accessOf(params).target!.session!
    const { include, $limit: limit = CONTEXT_LIMIT } = (params.query ?? {}) as { include?: 'compacted'; $limit?: number }
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const before = await readContextStatus(db, session_id)
      const messages = await readContext(db, session_id, before, { limit, compacted: include !== undefined })
      if (limit > 0 && !hasSamePast(before, await readContextStatus(db, session_id))) continue
      const { live_count, ...status } = before
      const all = include ? live_count : status.message_count
      return { session_id, messages, ...status, complete: messages.length === all }
    }
    throw new StoaError('unavailable', { message: 'The session is being changed all the time. Try again.' })
  }
}

/** Messages may have been appended; none was removed or restored, and the boundary is where it was. */
function hasSamePast(before: ContextStatus, after: ContextStatus): boolean {
  const removed = ({ last_seq, live_count }: ContextStatus) => last_seq - live_count
  return before.boundary_seq === after.boundary_seq && removed(before) === removed(after)
}
