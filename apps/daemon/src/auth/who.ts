import { timingSafeEqual } from 'node:crypto'
import { isTerminal, type TaskStatus } from '@stoa/core/domain/task-state'
import { StoaError } from '@stoa/core/errors'
import type { CredentialKind } from '@stoa/core/journal/entry'
import type { Actor } from '@stoa/core/policy/decide'
import type { Role } from '@stoa/core/policy/levels'
import type { Row } from '../db/database.js'
import type { LoadedAccess } from '../db/queries/load-access.js'

export interface ShownCredential {
  kind: CredentialKind
  credential_id: string
  /** SHA-256 of the secret part. */
  secret_hash: Buffer
}

export interface Who {
  actor: Actor
  user: Row
  credential: { kind: CredentialKind; id: string }
  access_version: number
}

/** Whose credential this is, as it stands in the database now. Role and active flag are never taken from the token. */
export function verifyWho(shown: ShownCredential, { credential, user, token }: LoadedAccess, now: Date): Who {
  const lives =
    credential !== null &&
    user !== null &&
    credential['kind'] === shown.kind &&
    secretMatches(shown, credential['secret_hash']) &&
    credential['revoked_at'] === null &&
    !(typeof credential['expires_at'] === 'string' && credential['expires_at'] <= now.toISOString()) &&
    user['active'] === true &&
    (shown.kind !== 'task_token' || (token !== null && !isTerminal(token.status as TaskStatus)))
  if (!lives) throw new StoaError('not_authenticated')
  return {
    actor: {
      user_id: user['user_id'] as string,
      role: user['role'] as Role,
      token: token && { task_id: credential['task_id'] as string, session_id: token.session_id, worktree_id: token.worktree_id },
      ...(credential['scope'] === 'executor' && { executor: true })
    },
    user,
    credential: { kind: credential['kind'] as CredentialKind, id: credential['credential_id'] as string },
    access_version: user['access_version'] as number
  }
}

function secretMatches(shown: ShownCredential, stored: unknown): boolean {
  const expected = Buffer.from(typeof stored === 'string' ? stored : '', 'hex')
  return expected.length === shown.secret_hash.length && timingSafeEqual(expected, shown.secret_hash)
}
