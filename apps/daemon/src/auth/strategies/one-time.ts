import { AuthenticationBaseStrategy, type AuthenticationResult } from '@feathersjs/authentication'
import { StoaError } from '@stoa/core/errors'
import { loadAccess } from '../../db/queries/load-access.js'
import type { Deps } from '../../deps.js'
import { parseSecret } from '../secrets.js'
import { verifyWho } from '../who.js'
import { ONE_TIME_PREFIX } from './secret.js'

/** The sign-in link that a first start prints. Taking it and spending it are one statement, so it works once. */
export class OneTimeStrategy extends AuthenticationBaseStrategy {
  constructor(private readonly deps: Deps) {
    super()
  }

  async authenticate(data: { token?: unknown }): Promise<AuthenticationResult> {
    const parsed = parseSecret(ONE_TIME_PREFIX, String(data.token))
    if (!parsed) throw new StoaError('not_authenticated')
    const loaded = await loadAccess(this.deps.db, 'token', parsed.credential_id, null)
    const { user } = verifyWho({ kind: 'one_time', ...parsed }, loaded, this.deps.now())
    const now = this.deps.now().toISOString()
    const spent = await this.deps.db.commit({
      steps: [
        {
          sql: `UPDATE credentials SET revoked_at = ?, updated_at = ?, version = version + 1 WHERE credential_id = ? AND revoked_at IS NULL RETURNING version`,
          params: [now, now, parsed.credential_id]
        }
      ],
      entries: []
    })
    if (!spent) throw new StoaError('not_authenticated')
    return { authentication: { strategy: this.name }, user }
  }
}
