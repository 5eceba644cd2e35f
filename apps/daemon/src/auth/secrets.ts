import { createHash, randomBytes } from 'node:crypto'
import { isId } from '@stoa/core/ids'

/**
 * A secret is `<prefix><id of its row, without dashes>_<256 random bits>`: the id finds the row, the rest is compared by
 * its hash. Random enough that a plain SHA-256 is right for it; a slow hash is for what people choose.
 */
export function makeSecret(prefix: string, credentialId: string): { secret: string; secret_hash: string } {
  const key = makeKey()
  return { secret: `${prefix}${credentialId.replaceAll('-', '')}_${key}`, secret_hash: hashOf(key).toString('hex') }
}

export function parseSecret(prefix: string, text: string): { credential_id: string; secret_hash: Buffer } | null {
  const match = new RegExp(
    `^${prefix}([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_([A-Za-z0-9_-]{43})$`
  ).exec(text)
  if (!match) return null
  const credential_id = match.slice(1, 6).join('-')
  return isId(credential_id) ? { credential_id, secret_hash: hashOf(match[6]!) } : null
}

/** 256 random bits. */
export function makeKey(): string {
  return randomBytes(32).toString('base64url')
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
