import { boundaryBefore, isCalledBefore } from '@stoa/core/domain/turns'
import { StoaError } from '@stoa/core/errors'
import type { Compaction } from '@stoa/core/schema/sessions'
import type { Statement } from '../../db/database.js'
import { appendMessages, newMessage } from '../../db/queries/append-messages.js'
import { MAX_SEQ, moveBoundary, planBoundary } from '../../db/queries/move-boundary.js'
import { readContextStatus } from '../../db/queries/read-context.js'
import { toolsAfter, turnsAfter, turnsUpTo } from '../../db/queries/read-turns.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { commitUnit, stillAllowed } from '../../hooks/commit-unit.js'
import { allowedEntry } from '../../hooks/journal-entry.js'

/** How far behind the boundary the results of tools are looked for, and how far before it their calls: at first, and at most. */
const BEHIND = 10_000
const BEFORE = { first: 100, most: 10_000 }

/**
 * Moves the boundary of the context: one more message, which stands for everything up to a seq. Nothing is removed, and what
 * was appended while the summary was being written lies behind the boundary, because `last_seq` says what it was written from.
 */
export class SessionCompactionsClass {
  constructor(private readonly deps: Deps) {}

  async create({ summary, keep_last, last_seq }: Compaction, params: StoaParams) {
    const access = accessOf(params)
    const { db } = this.deps
    const { session_id } = access.target!.session!
    const message = newMessage(this.deps.newId(), { session_id, role: 'system', content: summary })
    const { message_id } = message
    let plan = { boundary_seq: 0, compacted: 0, kept: 0, version: 0 }
    await commitUnit(this.deps, access, async () => {
      plan = await this.plan(session_id, keep_last, last_seq ?? MAX_SEQ)
      const stamp = { at: this.deps.now().toISOString(), by: access.who!.actor.user_id }
      const allowed = asPlanned(plan, stillAllowed(this.deps, access))
      return {
        steps: [
          ...appendMessages(db.dialect, session_id, [{ ...message, boundary_seq: plan.boundary_seq }], allowed, stamp),
          ...moveBoundary(session_id, plan.boundary_seq)
        ],
        entries: [
          allowedEntry(
            this.deps,
            access,
            { change: 'created', fields: ['content', 'boundary_seq'] },
            { resource_type: 'message', resource_id: message_id }
          )
        ]
      }
    })
    const { tokens_estimated } = await readContextStatus(db, session_id)
    const { boundary_seq, compacted, kept } = plan
    return { message_id, boundary_seq, compacted, kept, tokens_estimated }
  }

  private async plan(sessionId: string, keepLast: number, lastSeq: number) {
    const { db } = this.deps
    const { candidate, version, count } = await planBoundary(db, sessionId, keepLast, lastSeq)
    if (candidate === null) throw new StoaError('nothing_to_compact')
    const boundary_seq = await this.keepTools(sessionId, candidate)
    const compacted = await count(boundary_seq)
    if (compacted === 0) throw new StoaError('nothing_to_compact')
    return { boundary_seq, compacted, kept: (await count(MAX_SEQ)) - compacted, version }
  }

  /** Moves a boundary back until no tool's result is behind it while its call is before. */
  private async keepTools(sessionId: string, boundary: number): Promise<number> {
    const { db } = this.deps
    const next = await turnsAfter(db, sessionId, boundary, 1)
    const behind = [...next, ...(next[0] ? await toolsAfter(db, sessionId, next[0].seq, BEHIND) : [])]
    for (let size = BEFORE.first; ; size *= 10) {
      const before = await turnsUpTo(db, sessionId, boundary, size)
      const rows = [...before, ...behind]
      if (before.length < size || size >= BEFORE.most || !isCalledBefore(rows)) return boundaryBefore(rows, boundary)
    }
  }
}

/**
 * Of two compactions at once the second finds the boundary where it wanted to move it, or beyond. A truncation, and what takes
 * one back, count as a version of the session: the plan is then made anew.
 */
function asPlanned({ boundary_seq, version }: { boundary_seq: number; version: number }, allowed: Statement): Statement {
  return { sql: `boundary_seq < ? AND version = ? AND ${allowed.sql}`, params: [boundary_seq, version, ...allowed.params] }
}
