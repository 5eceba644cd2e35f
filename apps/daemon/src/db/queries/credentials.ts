import type { CredentialKind } from '@stoa/core/journal/entry'
import type { Statement, Step } from '../database.js'
import { tables } from '../tables.js'
import { Sql, insertWhere } from '../write.js'

export interface NewCredential {
  credential_id: string
  kind: CredentialKind
  user_id: string
  secret_hash: string
  name?: string
  scope?: 'executor' | null | undefined
  task_id?: string
  session_id?: string
  expires_at?: string | null | undefined
}

/** Every credential is one's own: its user is who made it. */
export function insertCredential(credential: NewCredential, now: Date, conditions: Statement[]): Step {
  const stamp = now.toISOString()
  return insertWhere(
    tables.credentials,
    { ...credential, created_at: stamp, created_by: credential.user_id, updated_at: stamp },
    conditions
  )
}

export function revokeCredential(credentialId: string, now: Date, conditions: Statement[] = []): Step {
  return revokeWhere([new Sql('credential_id = ?', credentialId), ...conditions], now)
}

/** All sign-ins of a user; there may be none. */
export function revokeAccessTokens(userId: string, now: Date): Step {
  return { ...revokeWhere([new Sql(`user_id = ? AND kind = 'access_token'`, userId)], now), optional: true }
}

function revokeWhere(conditions: Statement[], now: Date): Step {
  const stamp = now.toISOString()
  return {
    sql: `UPDATE credentials SET revoked_at = ?, updated_at = ?, version = version + 1
      WHERE revoked_at IS NULL AND ${conditions.map(({ sql }) => sql).join(' AND ')} RETURNING version`,
    params: [stamp, stamp, ...conditions.flatMap(({ params }) => params)]
  }
}
