import { AuthenticationService, type AuthenticationRequest, type AuthenticationResult } from '@feathersjs/authentication'
import type { Application } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { hashOf, makeKey } from '../../auth/secrets.js'
import { LocalStrategy } from '../../auth/strategies/local.js'
import { OneTimeStrategy } from '../../auth/strategies/one-time.js'
import { verifyWho, type Who } from '../../auth/who.js'
import type { Row, Step } from '../../db/database.js'
import { insertCredential, revokeCredential, type NewCredential } from '../../db/queries/credentials.js'
import { loadAccess } from '../../db/queries/load-access.js'
import { decodeRow, tables } from '../../db/tables.js'
import { Sql } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { commitAndCount, commitUnit } from '../../hooks/commit-unit.js'
import { allowedEntry } from '../../hooks/journal-entry.js'

const SIGN_IN_DAYS = 7

/** Feathers' authentication service, so that its clients work unchanged; tokens are rows here, and can be revoked. */
export class AuthenticationClass extends AuthenticationService {
  constructor(
    app: Application,
    private readonly deps: Deps
  ) {
    const parseStrategies = Object.keys(deps.credentials.bearer)
    super(app, 'authentication', {
      // Feathers asks for a string; nothing is signed with it (the jwt strategy has a key of its own), so it is thrown away.
      secret: makeKey(),
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
    const { id } = access.who!.credential
    await commitUnit(this.deps, access, () => ({
      steps: [revokeCredential(id, this.deps.now())],
      entries: [allowedEntry(this.deps, access, { change: 'removed' }, { kind: 'sign_in', resource_id: id })]
    }))
    return { authentication: { strategy: params.authentication!.strategy }, user: publicUser(access.who!.user) }
  }

  /** A token that exists already, as a socket shows it after (re)connecting. */
  private async showToken(data: AuthenticationRequest, accessToken: string, params: StoaParams): Promise<AuthenticationResult> {
    const shown = this.deps.credentials.recognise({ strategy: data.strategy!, accessToken })
    if (!shown) throw new StoaError('not_authenticated')
    const who = verifyWho(shown, await loadAccess(this.deps.db, 'token', shown.credential_id, null), this.deps.now())
    await this.recordSignIn(who, params, [])
    const { email, ...directory } = publicUser(who.user)
    // Whoever holds a task token is a program that runs for the person, not the person.
    const user = who.actor.token ? directory : { ...directory, email }
    return { accessToken, authentication: { strategy: data.strategy }, user }
  }

  private async issueToken(result: AuthenticationResult, params: StoaParams): Promise<AuthenticationResult> {
    const user = result['user'] as Row
    const credential_id = this.deps.newId()
    const key = makeKey()
    const now = this.deps.now()
    const expires = new Date(now.getTime() + SIGN_IN_DAYS * 86_400_000)
    const who = whoSignsIn(user, credential_id)
    const { user_id } = who.actor
    const credential: NewCredential = {
      credential_id,
      kind: 'access_token',
      user_id,
      secret_hash: hashOf(key).toString('hex'),
      expires_at: expires.toISOString()
    }
    // The account may have been closed, or its password changed, while the password was being checked.
    const unchanged = new Sql(
      `EXISTS (SELECT 1 FROM users gu WHERE gu.user_id = ? AND gu.access_version = ?${this.deps.db.dialect.holdRows('gu')})`,
      user_id,
      who.access_version
    )
    const spend = result['spend'] as Step | undefined
    await this.recordSignIn(who, params, [...(spend ? [spend] : []), insertCredential(credential, now, [unchanged])])
    const accessToken = this.deps.credentials.jwt.sign(credential_id, user_id, key, expires)
    return { accessToken, authentication: result.authentication, user: publicUser(user) }
  }

  private async recordSignIn(who: Who, params: StoaParams, steps: Step[]): Promise<void> {
    const access = accessOf(params)
    access.who = who
    const entry = allowedEntry(this.deps, access, { change: 'created' }, { kind: 'sign_in', resource_id: who.credential.id })
    if (!(await commitAndCount(this.deps, { steps, entries: [entry] }))) throw new StoaError('not_authenticated')
    access.decision_id = entry.id
  }
}

function whoSignsIn(user: Row, id: string): Who {
  return {
    actor: { user_id: user['user_id'] as string, role: user['role'] as Who['actor']['role'], token: null },
    user,
    credential: { kind: 'access_token', id },
    access_version: user['access_version'] as number
  }
}

function publicUser(user: Row): Row {
  return decodeRow(tables.users, user)
}
