import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Config } from '../config.js'
import type { Database } from '../db/database.js'

/**
 * The key that signs access tokens. On SQLite it is the file in STOA_HOME, beside the database. Daemons on one PostgreSQL
 * have homes of their own, and a token of one must be good on all: there the first daemon's key is shared through the
 * database. Knowing it is not enough to make a token: each also carries a secret whose hash is in its row.
 */
export async function signingKey(db: Database, config: Config): Promise<KeyObject> {
  if (db.dialect.name === 'sqlite') return keyOf(config.secret)
  await db.commit({
    steps: [
      {
        sql: `INSERT INTO shared_secrets (name, value) VALUES ('signing_key', ?) ON CONFLICT (name) DO NOTHING RETURNING name`,
        params: [config.secret],
        optional: true
      }
    ],
    entries: []
  })
  const [row] = await db.read(`SELECT value FROM shared_secrets WHERE name = 'signing_key'`, [])
  return keyOf(row!['value'] as string)
}

function keyOf(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret))
}
