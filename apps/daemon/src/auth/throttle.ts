import { createHash } from 'node:crypto'
import { StoaError } from '@stoa/core/errors'
import type { Deps } from '../deps.js'

const WINDOW_MS = 15 * 60_000
/** Per account from one address, per address, per account from anywhere: the last keeps a spread attack slow. */
const LIMITS = { accountAndAddress: 10, address: 100, account: 50 }

/**
 * Counts an attempt before the password is looked at, in the database: parallel attempts can't slip through together, and
 * a restart or a second daemon does not start from zero. Keys are hashed; nobody's e-mail address is kept for mistyping it.
 */
export async function countAttempt(deps: Deps, email: string, ip: string | null): Promise<void> {
  // The widest first: an address that is refused leaves no rows for the accounts it tries.
  for (const [key, limit] of keysOf(email, ip).toReversed()) {
    const now = deps.now()
    const expired = new Date(now.getTime() - WINDOW_MS).toISOString()
    const rows = await deps.db.commit({
      steps: [
        {
          sql: `INSERT INTO sign_in_attempts (key, window_start, count) VALUES (?, ?, 1)
            ON CONFLICT (key) DO UPDATE SET
              count = CASE WHEN sign_in_attempts.window_start < ? THEN 1 ELSE sign_in_attempts.count + 1 END,
              window_start = CASE WHEN sign_in_attempts.window_start < ? THEN excluded.window_start ELSE sign_in_attempts.window_start END
            RETURNING count`,
          params: [key, now.toISOString(), expired, expired]
        }
      ],
      entries: []
    })
    if (!rows) throw new StoaError('unavailable')
    if (Number(rows[0]?.['count']) > limit) throw new StoaError('rate_limited')
  }
}

/** A success does not count: the account starts afresh from this address, and the address gets its attempt back. */
export async function forgetAttempt(deps: Deps, email: string, ip: string | null): Promise<void> {
  const [[own], ...others] = keysOf(email, ip)
  const expired = new Date(deps.now().getTime() - WINDOW_MS).toISOString()
  await deps.db.commit({
    steps: [
      {
        sql: 'DELETE FROM sign_in_attempts WHERE key = ? OR window_start < ? RETURNING key',
        params: [own, expired],
        optional: true
      },
      ...others.map(([key]) => ({
        sql: 'UPDATE sign_in_attempts SET count = count - 1 WHERE key = ? RETURNING key',
        params: [key],
        optional: true
      }))
    ],
    entries: []
  })
}

function keysOf(email: string, ip: string | null): [[string, number], ...[string, number][]] {
  const key = (...parts: string[]) => createHash('sha256').update(parts.join('\n')).digest('hex')
  const address = ip ?? 'unknown'
  return [
    [key('both', email, address), LIMITS.accountAndAddress],
    [key('account', email), LIMITS.account],
    [key('address', address), LIMITS.address]
  ]
}
