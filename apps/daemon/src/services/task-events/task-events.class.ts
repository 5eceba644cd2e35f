import type { Paginated } from '@feathersjs/feathers'
import { PAGE } from '@stoa/core/schema/service-schema'
import type { Row } from '../../db/database.js'
import { countTaskEvents, readTaskEvents } from '../../db/queries/task-events.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'

/** Every change of a task's status, from the journal: it is written with the change, so it has them all. */
export class TaskEventsClass {
  constructor(private readonly deps: Deps) {}

  async find(params: StoaParams): Promise<Paginated<Row>> {
    const task_id = accessOf(params).resource_id!
    const { $limit: limit = PAGE.default, $skip: skip = 0 } = (params.query ?? {}) as { $limit?: number; $skip?: number }
    return {
      total: await countTaskEvents(this.deps.db, task_id),
      limit,
      skip,
      data: await readTaskEvents(this.deps.db, task_id, limit, skip)
    }
  }
}
