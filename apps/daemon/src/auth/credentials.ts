import type { KeyObject } from 'node:crypto'
import { BearerStrategy } from './strategies/bearer.js'
import { JwtStrategy } from './strategies/jwt.js'
import { API_KEY_PREFIX, SecretStrategy, TASK_TOKEN_PREFIX } from './strategies/secret.js'
import type { ShownCredential } from './who.js'

/** The kinds of credential that a call can carry, by the name of their strategy. */
export interface Credentials {
  jwt: JwtStrategy
  bearer: Record<string, BearerStrategy>
  /** The credential that a call carries, checked as far as it can be without the database. */
  recognise(authentication: { strategy: string; accessToken?: string } | undefined): ShownCredential | null
}

export function makeCredentials(secret: KeyObject): Credentials {
  const jwt = new JwtStrategy(secret)
  const bearer: Record<string, BearerStrategy> = {
    jwt,
    'api-key': new SecretStrategy('api_key', API_KEY_PREFIX),
    'task-token': new SecretStrategy('task_token', TASK_TOKEN_PREFIX)
  }
  return {
    jwt,
    bearer,
    recognise: (authentication) => {
      if (!authentication?.accessToken || !Object.hasOwn(bearer, authentication.strategy)) return null
      return bearer[authentication.strategy]!.recognise(authentication.accessToken)
    }
  }
}
