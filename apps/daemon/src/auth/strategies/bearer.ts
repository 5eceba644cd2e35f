import { AuthenticationBaseStrategy, type AuthenticationResult, type ConnectionEvent } from '@feathersjs/authentication'
import type { RealTimeConnection } from '@feathersjs/feathers'
import type { IncomingMessage } from 'node:http'
import { StoaError } from '@stoa/core/errors'
import type { ShownCredential } from '../who.js'

/**
 * A credential that is shown as `Authorization: Bearer …`, or once on a socket and then kept on its connection. What is
 * kept is the token, not what it allows: every call looks the token up again.
 */
export abstract class BearerStrategy extends AuthenticationBaseStrategy {
  /** Whether a token looks like one of this kind, before anything is verified. */
  abstract resembles(token: string): boolean

  /** The credential that this token claims to be, by its form and signature; null when it is not of this kind. */
  abstract recognise(token: string): ShownCredential | null

  async parse(req: IncomingMessage): Promise<{ strategy: string; accessToken: string } | null> {
    const token = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(req.headers.authorization ?? '')?.[1]
    return token && this.resembles(token) ? { strategy: this.name!, accessToken: token } : null
  }

  async authenticate({ accessToken }: { accessToken?: unknown }): Promise<AuthenticationResult> {
    if (typeof accessToken !== 'string' || !this.recognise(accessToken)) throw new StoaError('not_authenticated')
    return { accessToken, authentication: { strategy: this.name } }
  }

  async handleConnection(event: ConnectionEvent, connection: RealTimeConnection, result?: AuthenticationResult): Promise<void> {
    if (event !== 'login') delete connection['authentication']
    else if (result?.accessToken && this.recognise(result.accessToken))
      connection['authentication'] = { strategy: this.name, accessToken: result.accessToken }
  }
}
