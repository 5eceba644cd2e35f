import { isTerminal, type TaskStatus } from '@stoa/core/domain/task-state'
import { StoaError } from '@stoa/core/errors'
import type { Row } from '../../db/database.js'
import { tables } from '../../db/tables.js'
import { Sql, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type StoaParams } from '../../hooks/access.js'
import { recordHolds } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.tasks

/** Asks a task to stop: one that waits ends at once, one that is under way is told by its executor's next renewal. */
export class TaskStopsClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  async create(_data: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const record = await this.write(params, () => {
      const { attempt, ...task } = access.loaded!.record!
      const status = task['status'] as TaskStatus
      if (status === 'stopping') throw new AlreadyAsked()
      if (isTerminal(status)) throw new StoaError('illegal_transition', { message: `The task is ${status}: it has ended.` })
      const now = this.now()
      const waits = status === 'queued'
      const after = waits ? 'stopped' : 'stopping'
      const values = {
        status: after,
        because: waits ? 'was stopped before it began' : 'was asked to stop',
        updated_at: now,
        ...(waits && { completed_at: now })
      }
      return {
        steps: [updateWhere(table, values, [...recordHolds(this.deps, access, table), new Sql('status = ?', status)])],
        entries: [this.allow(access, { change: 'patched', fields: ['status'], after: { status: after, attempt } })]
      }
    }).catch(async (error: unknown) => {
      if (!(error instanceof AlreadyAsked)) throw error
      await this.recordRepeat(access, access.resource_id!)
      return this.present(access.loaded!.record!, params)
    })
    this.deps.bell.ring()
    return { ...record, queue_position: null }
  }
}

/** Somebody has asked before: nothing to write, the task as it stands. */
class AlreadyAsked extends Error {}
