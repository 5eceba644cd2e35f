import type { Paginated } from '@feathersjs/feathers'
import type { Row } from '../../db/database.js'
import { tables } from '../../db/tables.js'
import type { Deps } from '../../deps.js'
import type { StoaParams } from '../../hooks/access.js'
import { RecordClass } from '../record-class.js'

export class JournalClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, tables.journal)
  }

  protected override findPage(params: StoaParams): Promise<Paginated<Row>> {
    const { after_seq, ...query } = params.query ?? {}
    const after = after_seq === undefined ? {} : { $and: [...(query['$and'] ?? []), { seq: { $gt: after_seq } }] }
    return super.findPage({ ...params, query: { $sort: { seq: 1 }, ...query, ...after } })
  }
}
