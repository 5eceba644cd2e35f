import type { Row } from '../../db/database.js'
import { asLoaded, changeMessage } from '../../db/queries/change-message.js'
import { tables } from '../../db/tables.js'
import { Sql, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { recordHolds, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.messages

/** Brings a tombstone back, in its old place and with all its revisions. */
export class MessageRestoresClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  async create(_data: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, () => {
      const message = access.loaded!.record!
      const values = { deleted_at: null, removal_id: null, updated_at: this.now() }
      const conditions = [...recordHolds(this.deps, access, table), asLoaded(message), new Sql('deleted_at IS NOT NULL')]
      const counted = { messages: 1, tokens: message['tokens_estimated'] as number } as const
      const change = updateWhere(table, values, conditions)
      return {
        steps: changeMessage(this.deps.db.dialect, message, counted, stillAllowed(this.deps, access), change),
        entries: [this.allow(access, { change: 'patched', fields: ['deleted_at'] })]
      }
    })
  }
}
