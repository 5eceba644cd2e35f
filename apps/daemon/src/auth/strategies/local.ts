import { AuthenticationBaseStrategy, type AuthenticationResult } from '@feathersjs/authentication'
import { StoaError } from '@stoa/core/errors'
import { decodeRow, tables } from '../../db/tables.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { verifyPassword } from '../passwords.js'
import { countAttempt, forgetAttempt } from '../throttle.js'

/** E-mail and password. Says the same, in the same time, about a wrong password, an unknown account and an inactive one. */
export class LocalStrategy extends AuthenticationBaseStrategy {
  constructor(private readonly deps: Deps) {
    super()
  }

  async authenticate(data: { email?: unknown; password?: unknown }, params: StoaParams): Promise<AuthenticationResult> {
    const email = String(data.email).toLowerCase()
    const { ip } = accessOf(params).request
    await countAttempt(this.deps, email, ip)
    const [row] = await this.deps.db.read('SELECT * FROM users WHERE email = ?', [email])
    const user = row ? decodeRow(tables.users, row, true) : null
    const matches = await verifyPassword((user?.['password_hash'] as string | undefined) ?? null, String(data.password))
    if (!user || !matches || user['active'] !== true)
      throw new StoaError('not_authenticated', { message: 'The e-mail address or the password is wrong.' })
    await forgetAttempt(this.deps, email, ip)
    return { authentication: { strategy: this.name }, user }
  }
}
