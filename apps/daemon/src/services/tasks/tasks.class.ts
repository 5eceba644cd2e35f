import { isDeepStrictEqual } from 'node:util'
import { isTerminal, transition, type TaskStatus } from '@stoa/core/domain/task-state'
import { StoaError } from '@stoa/core/errors'
import type { TaskCreate, TaskPatch } from '@stoa/core/schema/tasks'
import type { Row } from '../../db/database.js'
import { endLease } from '../../db/queries/end-lease.js'
import { holdTokens } from '../../db/queries/hold-tokens.js'
import { decodeRow, tables } from '../../db/tables.js'
import { Sql, deleteWhere, insertWhere, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'
import { checkVersion, recordHolds, stillAllowed } from '../../hooks/commit-unit.js'
import { RecordClass } from '../record-class.js'

const table = tables.tasks

export class TasksClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  /** Model, settings and tools are frozen here: what the session says later is for later tasks. */
  async create(data: TaskCreate, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const session = access.loaded!.session!
    const task_id = this.deps.newId()
    const values = {
      task_id,
      ...data,
      session_id: session['session_id'],
      agent: data.agent ?? session['agent'],
      effective_model: data.requested_model ?? session['model'],
      config: { settings: session['settings'], tools: session['tools'] },
      status: 'queued',
      because: 'waits for its turn',
      ...this.stamps(access)
    }
    try {
      const record = await this.write(params, () => ({
        steps: [insertWhere(table, values, [stillAllowed(this.deps, access)])],
        entries: [
          this.allow(
            access,
            { change: 'created', fields: access.fields, after: { status: 'queued', attempt: 0 } },
            { resource_id: task_id }
          )
        ]
      }))
      this.deps.bell.ring()
      return this.withPosition(record)
    } catch (error) {
      if (error instanceof StoaError && error.code === 'duplicate') return this.repeatedCreate(access, data, params)
      throw error
    }
  }

  async patch(_id: unknown, data: TaskPatch, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const repeated = await this.repeatedReport(access, data, params)
    if (repeated) return repeated
    const record = await this.write(params, async () => {
      const task = access.loaded!.record!
      await this.requireLease(access, task)
      const values = this.changeOf(task, data)
      const lease_id = task['lease_id'] as string | null
      // Who gives a task back gives the lease back with it.
      const ends = data.status === 'queued' || (data.status !== undefined && isTerminal(data.status))
      const conditions = [
        ...recordHolds(this.deps, access, table),
        new Sql('status = ?', task['status'] as string),
        lease_id ? new Sql('lease_id = ?', lease_id) : new Sql('lease_id IS NULL')
      ]
      const effect = {
        change: 'patched',
        fields: access.fields,
        ...(data.status && data.status !== task['status'] && { after: { status: data.status, attempt: task['attempt'] } })
      } as const
      return {
        steps: [
          updateWhere(table, { ...values, ...(ends && { lease_id: null }) }, conditions),
          ...(ends && lease_id ? endLease(lease_id, this.now()) : [])
        ],
        entries: [this.allow(access, effect)]
      }
    }).catch(oneAtATime)
    if (data.status !== undefined) this.deps.bell.ring()
    const { status, queue_position } = access.loaded!.record!
    return status === 'queued' && record['status'] === 'queued' ? { ...record, queue_position } : this.withPosition(record)
  }

  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, () => {
      const status = access.loaded!.record!['status'] as TaskStatus
      if (status !== 'queued' && !isTerminal(status))
        throw new StoaError('illegal_transition', { message: 'A task that is under way cannot be removed. Stop it first.' })
      return {
        steps: [
          ...holdTokens(this.deps.db.dialect, 't.task_id', access.resource_id!),
          deleteWhere(table, [...recordHolds(this.deps, access, table), new Sql('status = ?', status)])
        ],
        entries: [this.allow(access, { change: 'removed' })]
      }
    })
  }

  /** While an executor holds a task, only its own token reports on it. */
  private async requireLease(access: Access, task: Row): Promise<void> {
    if (task['lease_id'] === null) return
    const [lease] = await this.deps.db.read('SELECT credential_id FROM leases WHERE lease_id = ?', [task['lease_id'] as string])
    if (lease?.['credential_id'] !== access.who!.credential.id) throw new StoaError('lease_held')
  }

  /** The queue moves with every task, so the position is read after the write instead of being part of it. */
  private async withPosition(record: Row): Promise<Row> {
    if (record['status'] !== 'queued') return { ...record, queue_position: null }
    const [row] = await this.deps.db.read(
      `SELECT (${table.computed.queue_position}) AS queue_position FROM tasks WHERE task_id = ?`,
      [record['task_id'] as string]
    )
    return { ...record, queue_position: row?.['queue_position'] ?? null }
  }

  private changeOf(task: Row, data: TaskPatch): Record<string, unknown> {
    const from = task['status'] as TaskStatus
    const to = data.status ?? from
    if (isTerminal(from) || transition(from, to) === 'illegal') {
      throw new StoaError('illegal_transition', {
        data: { from, to },
        message: `The task is ${from}; it cannot become ${to}${isTerminal(from) ? ', it has ended' : ''}.`
      })
    }
    const now = this.now()
    return {
      ...data,
      because: data.because ?? (to === from ? task['because'] : `reported as ${to}`),
      updated_at: now,
      ...(to === 'running' && task['started_at'] === null && { started_at: now }),
      ...(isTerminal(to) && { completed_at: now })
    }
  }

  /** The same last report again, as after a lost answer: nothing to write, the record as it stands. */
  private async repeatedReport(access: Access, data: TaskPatch, params: StoaParams): Promise<Row | null> {
    const task = access.loaded!.record!
    if (!isTerminal(task['status'] as TaskStatus)) return null
    if (!Object.entries(data).every(([field, value]) => isDeepStrictEqual(value, task[field]))) return null
    checkVersion(access)
    await this.recordRepeat(access, task['task_id'] as string)
    return this.present(task, params)
  }

  private async repeatedCreate(access: Access, data: TaskCreate, params: StoaParams): Promise<Row> {
    const [row] = await this.deps.db.read('SELECT * FROM tasks WHERE session_id = ? AND client_task_id = ?', [
      access.target!.session!.session_id,
      data.client_task_id ?? null
    ])
    if (!row || !sameRequest(row, data))
      throw new StoaError('duplicate', { message: 'There is another task with this client_task_id in this session.' })
    await this.recordRepeat(access, row['task_id'] as string)
    return this.withPosition(this.present(decodeRow(table, row), params))
  }
}

/** The database lets a session have one active task. */
function oneAtATime(error: unknown): never {
  if (error instanceof StoaError && error.code === 'duplicate')
    throw new StoaError('illegal_transition', {
      message: 'Another task of this session is under way; a session runs one at a time.'
    })
  throw error
}

/** Every field that was sent is the one that was sent before. */
function sameRequest(row: Row, { prompt, agent, requested_model }: TaskCreate): boolean {
  return (
    row['prompt'] === prompt &&
    row['requested_model'] === (requested_model ?? null) &&
    (agent === undefined || row['agent'] === agent)
  )
}
