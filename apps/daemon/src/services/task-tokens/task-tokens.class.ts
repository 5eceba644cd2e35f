import { isTerminal, type TaskStatus } from '@stoa/core/domain/task-state'
import { StoaError } from '@stoa/core/errors'
import { makeSecret } from '../../auth/secrets.js'
import { TASK_TOKEN_PREFIX } from '../../auth/strategies/secret.js'
import { insertCredential, type NewCredential } from '../../db/queries/credentials.js'
import { Sql } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { commitUnit, stillAllowed } from '../../hooks/commit-unit.js'
import { allowedEntry } from '../../hooks/journal-entry.js'

const LIFE_MS = 24 * 3_600_000

/** A token for whoever runs the task: the caller's rights, cut to this task and its session, gone when the task ends. */
export class TaskTokensClass {
  constructor(private readonly deps: Deps) {}

  async create(
    _data: unknown,
    params: StoaParams
  ): Promise<{ token: string; task_id: string; session_id: string; expires_at: string }> {
    const access = accessOf(params)
    const credential_id = this.deps.newId()
    const { secret, secret_hash } = makeSecret(TASK_TOKEN_PREFIX, credential_id)
    const now = this.deps.now()
    const expires_at = new Date(now.getTime() + LIFE_MS).toISOString()
    const { user_id } = access.who!.actor
    const task_id = access.resource_id!
    const { session_id } = access.target!.session!
    const credential: NewCredential = { credential_id, kind: 'task_token', user_id, secret_hash, task_id, session_id, expires_at }
    await commitUnit(this.deps, access, () => {
      const status = access.loaded!.record!['status'] as TaskStatus
      if (isTerminal(status))
        throw new StoaError('illegal_transition', { message: `The task is ${status}: it has ended and needs no token.` })
      const sameStatus = new Sql('EXISTS (SELECT 1 FROM tasks WHERE task_id = ? AND status = ?)', task_id, status)
      return {
        steps: [insertCredential(credential, now, [stillAllowed(this.deps, access), sameStatus])],
        entries: [allowedEntry(this.deps, access, { change: 'created' }, { kind: 'access_change' })]
      }
    })
    return { token: secret, task_id, session_id, expires_at }
  }
}
