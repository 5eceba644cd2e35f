import type { CredentialKind } from '@stoa/core/journal/entry'
import type { ShownCredential } from '../who.js'
import { parseSecret } from '../secrets.js'
import { BearerStrategy } from './bearer.js'

export const API_KEY_PREFIX = 'stoa_pat_'
export const TASK_TOKEN_PREFIX = 'stoa_task_'
export const ONE_TIME_PREFIX = 'stoa_once_'

/** API keys and task tokens: random secrets that differ only in their prefix and in what their row says. */
export class SecretStrategy extends BearerStrategy {
  constructor(
    private readonly kind: CredentialKind,
    private readonly prefix: string
  ) {
    super()
  }

  resembles(token: string): boolean {
    return token.startsWith(this.prefix)
  }

  recognise(token: string): ShownCredential | null {
    const parsed = parseSecret(this.prefix, token)
    return parsed && { kind: this.kind, ...parsed }
  }
}
