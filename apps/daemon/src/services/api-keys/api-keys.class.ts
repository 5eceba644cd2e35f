import type { ApiKeyCreate } from '@stoa/core/schema/api-keys'
import { makeSecret } from '../../auth/secrets.js'
import { API_KEY_PREFIX } from '../../auth/strategies/secret.js'
import type { Row } from '../../db/database.js'
import { tables } from '../../db/tables.js'
import { Sql, insertWhere, updateWhere } from '../../db/write.js'
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
    const stamps = this.stamps(access)
    const values = { credential_id: api_key_id, kind: 'api_key', user_id, name: data.name, secret_hash, expires_at: data.expires_at, ...stamps }
    await commitUnit(this.deps, access, () => ({
      steps: [insertWhere(tables.credentials, values, [stillAllowed(access)])],
      entries: [this.allow(access, { change: 'created', fields: access.fields }, { kind: 'access_change', resource_id: api_key_id })]
    }))
    return { api_key_id, user_id, name: data.name, expires_at: data.expires_at ?? null, ...stamps, secret }
  }

  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const now = this.now()
    await commitUnit(this.deps, access, () => ({
      steps: [updateWhere(tables.credentials, { revoked_at: now, updated_at: now }, [new Sql('credential_id = ? AND revoked_at IS NULL', access.resource_id), stillAllowed(access)])],
      entries: [this.allow(access, { change: 'removed' }, { kind: 'access_change' })]
    }))
    return this.present(access.loaded!.record!, params)
  }
}
