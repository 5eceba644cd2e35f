import type { Paginated } from '@feathersjs/feathers'
import type { Row } from '../../db/database.js'
import { tables } from '../../db/tables.js'
import type { Deps } from '../../deps.js'
import type { StoaParams } from '../../hooks/access.js'
import { RecordClass } from '../record-class.js'

/** The tombstones, for those who may bring them back. */
export class RemovedMessagesClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, tables.messages)
  }

  protected override findPage(params: StoaParams): Promise<Paginated<Row>> {
    const $and = [...(params.query?.['$and'] ?? []), { deleted_at: { $ne: null } }]
    return super.findPage({ ...params, query: { ...params.query, $and } })
  }
}
