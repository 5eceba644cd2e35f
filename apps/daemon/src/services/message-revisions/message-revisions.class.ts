import type { Paginated } from '@feathersjs/feathers'
import type { Row } from '../../db/database.js'
import { tables } from '../../db/tables.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { RecordClass } from '../record-class.js'

/** Every revision of one message, the current one last. Whoever may read the message may read its past. */
export class MessageRevisionsClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, tables.message_revisions)
  }

  protected override findPage(params: StoaParams): Promise<Paginated<Row>> {
    const $and = [...(params.query?.['$and'] ?? []), { message_id: accessOf(params).resource_id }]
    return super.findPage({
      ...params,
      query: { ...params.query, $and },
      scope: { anyOf: [{ see: 'everything' }], within: null }
    })
  }
}
