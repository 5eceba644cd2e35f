import { StoaError } from '@stoa/core/errors'
import type { Undoing } from '@stoa/core/schema/sessions'
import { undoRemoval } from '../../db/queries/truncate-session.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { commitUnit, stillAllowed } from '../../hooks/commit-unit.js'
import { allowedEntry } from '../../hooks/journal-entry.js'

/** Takes one truncation back: once, and while it can still be undone. */
export class SessionUndosClass {
  constructor(private readonly deps: Deps) {}

  async create({ undo_token }: Undoing, params: StoaParams): Promise<{ restored: number }> {
    const access = accessOf(params)
    const { session_id } = access.target!.session!
    const now = this.deps.now().toISOString()
    const [row] = await commitUnit(this.deps, access, async () => {
      await this.requireRemoval(undo_token, session_id, now)
      return {
        steps: undoRemoval(undo_token, session_id, now, stillAllowed(this.deps, access)),
        entries: [allowedEntry(this.deps, access, { change: 'patched', fields: ['message_count'] })],
        large: true
      }
    })
    return { restored: row!['affected'] as number }
  }

  private async requireRemoval(token: string, sessionId: string, now: string): Promise<void> {
    const found = await this.deps.db.read(
      'SELECT removal_id FROM removals WHERE removal_id = ? AND session_id = ? AND expires_at > ?',
      [token, sessionId, now]
    )
    if (found.length === 0)
      throw new StoaError('not_found', {
        message: 'There is nothing to undo with this token: it was used, it is too old, or it never was.'
      })
  }
}
