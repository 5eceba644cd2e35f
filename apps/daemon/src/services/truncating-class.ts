import type { Row } from '../db/database.js'
import { truncateSession, type Removal } from '../db/queries/truncate-session.js'
import type { Deps } from '../deps.js'
import { accessOf, type StoaParams } from '../hooks/access.js'
import { commitUnit, stillAllowed } from '../hooks/commit-unit.js'
import { allowedEntry } from '../hooks/journal-entry.js'

/** How long a truncation can be undone. */
const UNDO_MS = 24 * 3_600_000

export interface Truncated {
  kept: number
  removed: number
  undo_token?: string
  undo_expires_at?: string
}

/** What truncating and clearing share: the tail of a transcript becomes tombstones, and one token brings it back. */
export class TruncatingClass {
  constructor(protected readonly deps: Deps) {}

  protected async truncate(params: StoaParams, keep: number): Promise<Truncated> {
    const access = accessOf(params)
    const now = this.deps.now()
    const removal: Removal = {
      removal_id: this.deps.newId(),
      session_id: access.target!.session!.session_id,
      created_at: now.toISOString(),
      created_by: access.who!.actor.user_id,
      expires_at: new Date(now.getTime() + UNDO_MS).toISOString()
    }
    const [row] = await commitUnit(this.deps, access, () => ({
      steps: truncateSession(removal, keep, stillAllowed(this.deps, access)),
      entries: [allowedEntry(this.deps, access, { change: 'patched', fields: ['message_count'] })],
      large: true
    }))
    return answerOf(row!, removal)
  }
}

function answerOf({ message_count, affected }: Row, { removal_id, expires_at }: Removal): Truncated {
  const answer = { kept: message_count as number, removed: affected as number }
  return answer.removed > 0 ? { ...answer, undo_token: removal_id, undo_expires_at: expires_at } : answer
}
