import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { userSchema } from '@stoa/core/schema/users'
import { isPostgres } from './db/database-url.js'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface Config {
  host: string
  port: number
  home: string
  databaseUrl: string
  admin: { email: string; password: string } | null
  /** Reserved: validated, so that a wrong value is found early, and not used yet. */
  executors: number
  emptySessionGuardSeconds: number
  /** How long a lease holds without being renewed. */
  leaseSeconds: number
  /** 0: nothing is swept unless somebody asks for it. */
  sweepEverySeconds: number
  repoRoots: string[]
  logLevel: LogLevel
  /** Signs access tokens (auth/signing-key.ts). */
  secret: string
}

/** A setting that is wrong. The message names it and says what to do. */
export class SettingError extends Error {}

/** The only place that reads the environment. Anything unknown or wrong stops the start. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  refuseUnknown(env)
  const home = resolve(env['STOA_HOME'] || join(homedir(), '.stoa'))
  mkdirSync(join(home, 'logs'), { recursive: true, mode: 0o700 })
  return {
    host: env['STOA_HOST'] || '127.0.0.1',
    port: integer(env, 'STOA_PORT', 4747, 0, 65_535),
    home,
    databaseUrl: databaseUrl(env['STOA_DATABASE_URL'], home),
    admin: admin(env),
    executors: integer(env, 'STOA_EXECUTORS', 1, 0, 100),
    emptySessionGuardSeconds: integer(env, 'STOA_EMPTY_SESSION_GUARD_S', 3600, 0, 31_536_000),
    sweepEverySeconds: integer(env, 'STOA_SWEEP_EVERY_S', 0, 0, 31_536_000),
    leaseSeconds: integer(env, 'STOA_LEASE_S', 30, 1, 3600),
    repoRoots: repoRoots(env['STOA_REPO_ROOTS']),
    logLevel: oneOf(env, 'STOA_LOG_LEVEL', 'info', LOG_LEVELS),
    secret: readSecret(join(home, 'secret'))
  }
}

/** What a command of `stoa` that asks a daemon needs: the key of whoever runs it. */
export function readClientConfig(env: NodeJS.ProcessEnv = process.env): { key: string } {
  const key = env['STOA_KEY']
  if (!key) throw new SettingError('STOA_KEY is not set: put an API key (stoa_pat_…) there; POST /api-keys makes one')
  // Checked here, because fetch would put the whole header, and so the key, into its own error message.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new SettingError('STOA_KEY has a space, a line break or a character outside ASCII: it is not a key')
  return { key }
}

const known = [
  'STOA_HOST',
  'STOA_PORT',
  'STOA_HOME',
  'STOA_DATABASE_URL',
  'STOA_ADMIN_EMAIL',
  'STOA_ADMIN_PASSWORD',
  'STOA_EXECUTORS',
  'STOA_EMPTY_SESSION_GUARD_S',
  'STOA_SWEEP_EVERY_S',
  'STOA_LEASE_S',
  'STOA_REPO_ROOTS',
  'STOA_LOG_LEVEL'
]

/** Read by the tests; a daemon that they start must not stumble over it. */
const ignored = ['STOA_TEST_DATABASE_URL']

function refuseUnknown(env: NodeJS.ProcessEnv): void {
  const unknown = Object.keys(env).find((name) => name.startsWith('STOA_') && !known.includes(name) && !ignored.includes(name))
  if (unknown) throw new SettingError(`${unknown} is not a setting of Stoa: remove it, or use one of ${known.join(', ')}`)
}

function integer(env: NodeJS.ProcessEnv, name: string, fallback: number, least: number, most: number): number {
  const text = env[name]
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw new SettingError(`${name} must be a whole number from ${least} to ${most}`)
  return value
}

function oneOf<T extends string>(env: NodeJS.ProcessEnv, name: string, fallback: T, values: readonly T[]): T {
  const value = values.find((candidate) => candidate === (env[name] || fallback))
  if (!value) throw new SettingError(`${name} must be one of ${values.join(', ')}`)
  return value
}

function databaseUrl(value: string | undefined, home: string): string {
  if (!value) return join(home, 'stoa.db')
  if (!isPostgres(value))
    throw new SettingError('STOA_DATABASE_URL must start with postgres://; leave it away for the SQLite file in STOA_HOME')
  return value
}

function admin(env: NodeJS.ProcessEnv): Config['admin'] {
  const [email, password] = [env['STOA_ADMIN_EMAIL'], env['STOA_ADMIN_PASSWORD']]
  if (!email && !password) return null
  if (!email || !password) throw new SettingError('STOA_ADMIN_EMAIL and STOA_ADMIN_PASSWORD go together: set both or none')
  const rules = userSchema.create.properties
  if (email.length > rules.email.maxLength! || !new RegExp(rules.email.pattern!).test(email))
    throw new SettingError('STOA_ADMIN_EMAIL must be an e-mail address')
  const { minLength, maxLength } = rules.password
  if (password.length < minLength! || password.length > maxLength!)
    throw new SettingError(`STOA_ADMIN_PASSWORD must have ${minLength} to ${maxLength} characters`)
  return { email: email.toLowerCase(), password }
}

function repoRoots(value: string | undefined): string[] {
  const roots = (value ?? '').split(':').filter(Boolean)
  if (roots.some((root) => !isAbsolute(root)))
    throw new SettingError('STOA_REPO_ROOTS must be absolute directories, separated by a colon')
  return roots
}

/** Made on the first start, readable by its owner only. Two first starts at once: one writes it, the other reads it. */
function readSecret(path: string): string {
  if (!existsSync(path)) {
    // Written beside and linked into place, so that nobody ever reads half of it.
    const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
    writeFileSync(draft, randomBytes(48).toString('base64url'), { mode: 0o600, flag: 'wx' })
    try {
      linkSync(draft, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      unlinkSync(draft)
    }
  }
  chmodSync(path, 0o600)
  const secret = readFileSync(path, 'utf8').trim()
  if (secret.length < 32)
    throw new SettingError(
      'the file secret in STOA_HOME is too short: remove it to have a new one made (everyone signs in again)'
    )
  return secret
}
