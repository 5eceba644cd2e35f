import { AuthenticationService, type AuthenticationRequest, type AuthenticationResult } from '@feathersjs/authentication'
import type { Application } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import type { CredentialKind } from '@stoa/core/journal/entry'
import { hashOf, makeKey } from '../../auth/secrets.js'
import { LocalStrategy } from '../../auth/strategies/local.js'
import { OneTimeStrategy } from '../../auth/strategies/one-time.js'
import { verifyWho, type Who } from '../../auth/who.js'
import type { Row } from '../../db/database.js'
import { loadAccess } from '../../db/queries/load-access.js'
import { decodeRow, tables } from '../../db/tables.js'
import { insertWhere, Sql, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { commitUnit } from '../../hooks/commit-unit.js'
import { journalEntry } from '../../hooks/journal-entry.js'

const SIGN_IN_DAYS = 7

/** Feathers' authentication service, so that its clients work unchanged; tokens are rows here, and can be revoked. */
export class AuthenticationClass extends AuthenticationService {
  constructor(
    app: Application,
    private readonly deps: Deps
  ) {
    const parseStrategies = Object.keys(deps.credentials.bearer)
    super(app, 'authentication', {
      secret: 'kept as a key object by the jwt strategy',
      entity: null,
      authStrategies: ['local', 'one-time', ...parseStrategies],
      parseStrategies
    })
    this.register('local', new LocalStrategy(deps))
    this.register('one-time', new OneTimeStrategy(deps))
    for (const [name, strategy] of Object.entries(deps.credentials.bearer)) this.register(name, strategy)
  }

  override async create(data: AuthenticationRequest, params: StoaParams): Promise<AuthenticationResult> {
    const result = await this.authenticate(data, params, ...this.configuration.authStrategies!)
    return result.accessToken ? this.showToken(data, result.accessToken, params) : this.issueToken(result, params)
  }

  /** Revokes the token that the call carries. */
  override async remove(_id: string | null, params: StoaParams): Promise<AuthenticationResult> {
    const access = accessOf(params)
    const now = this.deps.now().toISOString()
    const { id } = access.who!.credential
    await commitUnit(this.deps, access, () => ({
      steps: [updateWhere(tables.credentials, { revoked_at: now, updated_at: now }, [new Sql('credential_id = ? AND revoked_at IS NULL', id)])],
      entries: [journalEntry(this.deps, access, { decision: 'allow', reason_code: 'allowed', reason: 'self', kind: 'sign_in', effect: { change: 'removed' }, resource_id: id })]
    }))
    return { authentication: { strategy: params.authentication!.strategy }, user: publicUser(access.who!.user) }
  }

  /** A token that exists already, as a socket shows it after (re)connecting. */
  private async showToken(data: AuthenticationRequest, accessToken: string, params: StoaParams): Promise<AuthenticationResult> {
    const shown = this.deps.credentials.recognise({ strategy: data.strategy!, accessToken })
    if (!shown) throw new StoaError('not_authenticated')
    const who = verifyWho(shown, await loadAccess(this.deps.db, 'token', shown.credential_id, null), this.deps.now())
    await this.recordSignIn(who, params, [])
    return { accessToken, authentication: { strategy: data.strategy }, user: publicUser(who.user) }
  }

  private async issueToken(result: AuthenticationResult, params: StoaParams): Promise<AuthenticationResult> {
    const user = result['user'] as Row
    const credential_id = this.deps.newId()
    const key = makeKey()
    const now = this.deps.now()
    const expires = new Date(now.getTime() + SIGN_IN_DAYS * 86_400_000)
    const stamp = now.toISOString()
    const who = whoSignsIn(user, 'access_token', credential_id)
    const values = { credential_id, kind: 'access_token', user_id: user['user_id'], secret_hash: hashOf(key).toString('hex'), expires_at: expires.toISOString(), created_at: stamp, created_by: user['user_id'], updated_at: stamp }
    // The account may have been closed while the password was being checked.
    const stillActive = new Sql('EXISTS (SELECT 1 FROM users WHERE user_id = ? AND access_version = ?)', who.actor.user_id, who.access_version)
    await this.recordSignIn(who, params, [insertWhere(tables.credentials, values, [stillActive])])
    const accessToken = this.deps.credentials.jwt.sign(credential_id, who.actor.user_id, key, expires)
    return { accessToken, authentication: result.authentication, user: publicUser(user) }
  }

  private async recordSignIn(who: Who, params: StoaParams, steps: ReturnType<typeof insertWhere>[]): Promise<void> {
    const access = accessOf(params)
    access.who = who
    const entry = journalEntry(this.deps, access, { decision: 'allow', reason_code: 'allowed', reason: 'anyone', kind: 'sign_in', effect: { change: 'created' }, resource_id: who.credential.id })
    if (!(await this.deps.db.commit({ steps, entries: [entry] }))) throw new StoaError('not_authenticated')
    access.decision_id = entry.id
  }
}

function whoSignsIn(user: Row, kind: CredentialKind, id: string): Who {
  return {
    actor: { user_id: user['user_id'] as string, role: user['role'] as Who['actor']['role'], token: null },
    user,
    credential: { kind, id },
    access_version: user['access_version'] as number
  }
}

function publicUser(user: Row): Row {
  return decodeRow(tables.users, user)
}
