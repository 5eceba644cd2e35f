import type { ApiKeyCreate } from '@stoa/core/schema/api-keys'
import { makeSecret } from '../../auth/secrets.js'
import { API_KEY_PREFIX } from '../../auth/strategies/secret.js'
import type { Row } from '../../db/database.js'
import { insertCredential, revokeCredential, type NewCredential } from '../../db/queries/credentials.js'
import { tables } from '../../db/tables.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { commitUnit, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

/** Keys are credentials; the service reads them through the view of the live ones. */
export class ApiKeysClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, tables.api_keys)
  }

  /** The secret is in this answer and nowhere else: only its hash is stored. */
  async create(data: ApiKeyCreate, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const api_key_id = this.deps.newId()
    const { secret, secret_hash } = makeSecret(API_KEY_PREFIX, api_key_id)
    const { user_id } = access.who!.actor
    const now = this.deps.now()
    const credential: NewCredential = {
      credential_id: api_key_id,
      kind: 'api_key',
      user_id,
      secret_hash,
      name: data.name,
      scope: data.scope,
      expires_at: data.expires_at
    }
    await commitUnit(this.deps, access, () => ({
      steps: [insertCredential(credential, now, [stillAllowed(this.deps, access)])],
      entries: [
        this.allow(access, { change: 'created', fields: access.fields }, { kind: 'access_change', resource_id: api_key_id })
      ]
    }))
    const stamps = { created_at: now.toISOString(), created_by: user_id, updated_at: now.toISOString() }
    return {
      api_key_id,
      user_id,
      name: data.name,
      scope: data.scope ?? null,
      expires_at: data.expires_at ?? null,
      ...stamps,
      secret
    }
  }

  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    await commitUnit(this.deps, access, () => ({
      steps: [revokeCredential(access.resource_id!, this.deps.now(), [stillAllowed(this.deps, access)])],
      entries: [this.allow(access, { change: 'removed' }, { kind: 'access_change' })]
    }))
    return this.present(access.loaded!.record!, params)
  }
}
