import { AuthenticationBaseStrategy, type AuthenticationResult } from '@feathersjs/authentication'
import { StoaError } from '@stoa/core/errors'
import { revokeCredential } from '../../db/queries/credentials.js'
import { loadAccess } from '../../db/queries/load-access.js'
import type { Deps } from '../../deps.js'
import { parseSecret } from '../secrets.js'
import { verifyWho } from '../who.js'
import { ONE_TIME_PREFIX } from './secret.js'

/** The sign-in token that a first start prints. It is spent in the unit that makes the access token, so it works once. */
export class OneTimeStrategy extends AuthenticationBaseStrategy {
  constructor(private readonly deps: Deps) {
    super()
  }

  async authenticate(data: { token?: unknown }): Promise<AuthenticationResult> {
    const parsed = parseSecret(ONE_TIME_PREFIX, String(data.token))
    if (!parsed) throw new StoaError('not_authenticated')
    const loaded = await loadAccess(this.deps.db, 'token', parsed.credential_id, null)
    const { user } = verifyWho({ kind: 'one_time', ...parsed }, loaded, this.deps.now())
    return { authentication: { strategy: this.name }, user, spend: revokeCredential(parsed.credential_id, this.deps.now()) }
  }
}
