import { randomBytes } from 'node:crypto'
import { StoaError } from '@stoa/core/errors'
import type { JournalEntry } from '@stoa/core/journal/entry'
import { SettingError } from '../config.js'
import { insertCredential, type NewCredential } from '../db/queries/credentials.js'
import { tables } from '../db/tables.js'
import { Sql, insertWhere } from '../db/write.js'
import type { Deps } from '../deps.js'
import { hashPassword } from './passwords.js'
import { makeSecret } from './secrets.js'
import { ONE_TIME_PREFIX } from './strategies/secret.js'

const GENERATED_EMAIL = 'admin@localhost'
const LINK_LIFE_MS = 3_600_000

/**
 * Makes the first admin when there is no user at all: from the settings, or with a password that nobody knows and a
 * one-time sign-in token. Two daemons that start together make one. Returns the token, to be printed.
 */
export async function ensureFirstAdmin(deps: Deps): Promise<string | null> {
  const { admin } = deps.config
  const [someone] = await deps.db.read('SELECT user_id FROM users LIMIT 1', [])
  if (someone) return null
  const user_id = deps.newId()
  const stamp = deps.now().toISOString()
  const values = {
    user_id,
    email: admin?.email ?? GENERATED_EMAIL,
    name: 'Admin',
    role: 'admin',
    password_hash: await hashPassword(admin?.password ?? randomBytes(32).toString('base64url')),
    password_generated: admin === null,
    created_at: stamp,
    updated_at: stamp
  }
  const token = admin ? null : makeOneTime(deps, user_id)
  const unit = {
    steps: [
      insertWhere(tables.users, values, [new Sql('NOT EXISTS (SELECT 1 FROM users)')]),
      ...(token ? [{ ...insertCredential(token.credential, deps.now(), []), optional: true }] : [])
    ],
    entries: [systemEntry(deps, user_id)]
  }
  const made = await deps.db.commit(unit).catch(nullWhenDuplicate)
  return made && token ? token.secret : null
}

/** On PostgreSQL two daemons can both find nobody; the address is unique, so the second one's admin is refused. */
function nullWhenDuplicate(error: unknown): null {
  if (error instanceof StoaError && error.code === 'duplicate') return null
  throw error
}

/** An address that others can reach needs a password that somebody has chosen. */
export async function refuseGeneratedPassword({ db, config }: Deps): Promise<void> {
  if (['127.0.0.1', '::1', 'localhost'].includes(config.host)) return
  const [admin] = await db.read(`SELECT user_id FROM users WHERE role = 'admin' AND password_generated = ? AND active = ?`, [
    true,
    true
  ])
  if (admin) {
    throw new SettingError(
      `STOA_HOST is ${config.host}, but an admin still has a generated password: ` +
        'start on 127.0.0.1 first and set a password, or start with STOA_ADMIN_EMAIL and STOA_ADMIN_PASSWORD on an empty database'
    )
  }
}

function makeOneTime(deps: Deps, user_id: string): { secret: string; credential: NewCredential } {
  const credential_id = deps.newId()
  const { secret, secret_hash } = makeSecret(ONE_TIME_PREFIX, credential_id)
  const expires_at = new Date(deps.now().getTime() + LINK_LIFE_MS).toISOString()
  return { secret, credential: { credential_id, kind: 'one_time', user_id, secret_hash, expires_at } }
}

function systemEntry(deps: Deps, user_id: string): JournalEntry {
  return {
    id: deps.newId(),
    ts: deps.now().toISOString(),
    kind: 'system',
    decision: 'allow',
    reason_code: 'allowed',
    reason: 'the first start makes the first admin',
    actor_id: null,
    actor: { system: 'first start' },
    credential: null,
    action: 'users.create',
    service: 'users',
    method: 'create',
    transport: 'internal',
    resource_type: 'user',
    resource_id: user_id,
    worktree_id: null,
    session_id: null,
    claimed: null,
    actual: null,
    spoofed: false,
    basis: null,
    trace: [],
    effect: { change: 'created', after: { role: 'admin', active: true } },
    version: 1,
    request: { request_id: deps.newId(), ip: null }
  }
}
