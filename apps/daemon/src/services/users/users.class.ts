import type { UserCreate, UserPatch } from '@stoa/core/schema/users'
import { hashPassword } from '../../auth/passwords.js'
import type { Row } from '../../db/database.js'
import { revokeAccessTokens } from '../../db/queries/credentials.js'
import { tables } from '../../db/tables.js'
import { Sql, insertWhere, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { recordHolds, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.users

export class UsersClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  async create(data: UserCreate, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const password_hash = await hashPassword(data.password)
    const user_id = this.deps.newId()
    const role = data.role ?? 'member'
    return await this.write(params, () => ({
      steps: [
        insertWhere(
          table,
          { user_id, email: data.email.toLowerCase(), name: data.name, role, password_hash, ...this.stamps(access) },
          [stillAllowed(this.deps, access)]
        )
      ],
      entries: [
        this.allow(
          access,
          { change: 'created', fields: access.fields, after: { role, active: true } },
          { kind: 'access_change', resource_id: user_id }
        )
      ]
    }))
  }

  /** A new role, active flag or password counts from the next call on, on every open socket; a new password ends all sign-ins. */
  async patch(_id: unknown, data: UserPatch, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const { password, email, ...plain } = data
    const changesAccess = password !== undefined || data.role !== undefined || data.active !== undefined
    const values: Record<string, unknown> = { ...plain, updated_at: this.now() }
    if (email !== undefined) values['email'] = email.toLowerCase()
    if (password !== undefined) Object.assign(values, { password_hash: await hashPassword(password), password_generated: false })
    if (changesAccess) values['access_version'] = new Sql('access_version + 1')
    return await this.write(params, () => {
      const { role, active } = access.loaded!.record!
      return {
        steps: [
          updateWhere(table, values, recordHolds(this.deps, access, table)),
          ...(password === undefined ? [] : [revokeAccessTokens(access.resource_id!, this.deps.now())])
        ],
        entries: [
          this.allow(
            access,
            {
              change: 'patched',
              fields: access.fields,
              ...(changesAccess && {
                before: { role, active },
                after: { role: data.role ?? role, active: data.active ?? active }
              })
            },
            { kind: changesAccess ? 'access_change' : 'decision' }
          )
        ]
      }
    })
  }

  /** E-mail addresses are for admins and for oneself. */
  protected override present(record: Row, params: StoaParams): Row {
    const { actor } = accessOf(params).who!
    const { email, ...directory } = super.present(record, params)
    const full = email !== undefined && (actor.role === 'admin' || actor.user_id === record['user_id'])
    return full ? { ...directory, email } : directory
  }
}
