import type { Paginated } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { decide } from '@stoa/core/policy/decide'
import type { MessageCreate, MessagePatch } from '@stoa/core/schema/messages'
import type { Row, Step, Value } from '../../db/database.js'
import { appendMessages, type NewMessage } from '../../db/queries/append-messages.js'
import { loadAccess } from '../../db/queries/load-access.js'
import { decodeRow, tables } from '../../db/tables.js'
import { Sql, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'
import { commitUnit, recordHolds, stillAllowed } from '../../hooks/commit-unit.js'
import { targetOf } from '../../hooks/load-into.js'
import { RecordClass } from '../record-class.js'

const table = tables.messages

export class MessagesClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, table)
  }

  /** One message or a list for one session: all of them or none. */
  async create(data: MessageCreate | MessageCreate[], params: StoaParams): Promise<Row | Row[]> {
    const access = accessOf(params)
    const messages = (Array.isArray(data) ? data : [data]).map((message): NewMessage => ({
      ...message,
      message_id: this.deps.newId()
    }))
    refuseTwins(messages)
    await this.requireTasks(access, messages)
    const { session_id } = access.target!.session!
    try {
      const rows = await commitUnit(this.deps, access, () => ({
        steps: appendMessages(this.deps.db.dialect, session_id, messages, stillAllowed(this.deps, access), {
          at: this.now(),
          by: access.who!.actor.user_id
        }),
        entries: messages.map(({ message_id }) =>
          this.allow(access, { change: 'created', fields: access.fields }, { resource_id: message_id })
        )
      }))
      return this.answer(data, rows, params)
    } catch (error) {
      if (error instanceof StoaError && error.code === 'duplicate') return this.repeatedCreate(access, data, messages, params)
      throw error
    }
  }

  /** New content is a new revision; the one before is kept as it was, with who and when. */
  async patch(_id: unknown, data: MessagePatch, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    return await this.write(params, () => {
      const message = access.loaded!.record!
      const now = this.now()
      const edits = data.content !== undefined
      const values = {
        ...(data.metadata !== undefined && { metadata: data.metadata }),
        ...(edits && {
          content: new Sql('?', JSON.stringify(data.content)),
          revision: new Sql('revision + 1'),
          edited_at: now,
          edited_by: access.who!.actor.user_id
        }),
        updated_at: now
      }
      const conditions = [
        ...recordHolds(this.deps, access, table),
        new Sql('revision = ? AND deleted_at IS NULL', message['revision'] as number)
      ]
      return {
        steps: [updateWhere(table, values, conditions), ...(edits ? [keepRevision(message)] : [])],
        entries: [this.allow(access, { change: 'patched', fields: access.fields })]
      }
    })
  }

  /** Leaves a tombstone: the number is never given again and the neighbours keep theirs. */
  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const now = this.now()
    return await this.write(params, () => ({
      steps: [
        updateWhere(table, { deleted_at: now, updated_at: now }, [
          ...recordHolds(this.deps, access, table),
          new Sql('deleted_at IS NULL')
        ]),
        {
          sql: 'UPDATE sessions SET message_count = message_count - 1 WHERE session_id = ? RETURNING message_count',
          params: [access.target!.session!.session_id],
          optional: true
        }
      ],
      entries: [this.allow(access, { change: 'removed' })]
    }))
  }

  /** By `seq`, ascending; `before_seq` takes the page just below it. */
  protected override async findPage(params: StoaParams): Promise<Paginated<Row>> {
    const { after_seq, before_seq, ...query } = params.query ?? {}
    const range = [
      ...(after_seq === undefined ? [] : [{ seq: { $gt: after_seq } }]),
      ...(before_seq === undefined ? [] : [{ seq: { $lt: before_seq } }])
    ]
    const backwards = before_seq !== undefined && after_seq === undefined && !query['$sort']
    const $and = [...(query['$and'] ?? []), ...range, { deleted_at: null }]
    const page = await super.findPage({ ...params, query: { $sort: { seq: backwards ? -1 : 1 }, ...query, $and } })
    return backwards ? { ...page, data: page.data.reverse() } : page
  }

  private answer(data: MessageCreate | MessageCreate[], rows: Row[], params: StoaParams): Row | Row[] {
    const records = rows
      .map((row) => this.present(decodeRow(table, row), params))
      .sort((a, b) => Number(a['seq']) - Number(b['seq']))
    return Array.isArray(data) ? records : records[0]!
  }

  /** The task must be one of this session. Naming another is recorded; who cannot see that task does not learn that it exists. */
  private async requireTasks(access: Access, messages: NewMessage[]): Promise<void> {
    for (const taskId of new Set(messages.flatMap(({ task_id }) => task_id ?? []))) {
      const loaded = await loadAccess(this.deps.db, 'task', access.who!.credential.id, taskId)
      if (loaded.session?.['session_id'] === access.target!.session!.session_id) continue
      access.claims.push({ field: 'task_id', value: taskId, from: 'data' })
      const { visible } = decide(access.who!.actor, 'tasks.get', targetOf('task', loaded), { fields: [], reason: false })
      throw new StoaError(visible ? 'parent_mismatch' : 'not_found')
    }
  }

  /** The same ids with the same content were written before: the first rows are the answer. Anything else is a conflict. */
  private async repeatedCreate(
    access: Access,
    data: MessageCreate | MessageCreate[],
    messages: NewMessage[],
    params: StoaParams
  ): Promise<Row | Row[]> {
    const rows = await Promise.all(messages.map((message) => this.firstRow(access, message)))
    if (!rows.every((row, index) => row && saysTheSame(row, messages[index]!))) {
      throw new StoaError('duplicate', { message: 'There is another message with this client_message_id in this session.' })
    }
    await this.recordRepeat(access, rows[0]!['message_id'] as string)
    return this.answer(data, rows as Row[], params)
  }

  private async firstRow(access: Access, message: NewMessage): Promise<Row | undefined> {
    const key: Value[] = [access.target!.session!.session_id, message.client_message_id ?? null]
    const [row] = await this.deps.db.read(
      `SELECT m.*, (SELECT v.content FROM message_revisions v WHERE v.message_id = m.message_id AND v.revision = 1) AS first_content
       FROM messages m WHERE m.session_id = ? AND m.client_message_id = ? AND m.deleted_at IS NULL`,
      key
    )
    return row
  }
}

function refuseTwins(messages: NewMessage[]): void {
  const ids = messages.flatMap(({ client_message_id }) => client_message_id ?? [])
  if (new Set(ids).size !== ids.length)
    throw new StoaError('invalid', { errors: [{ field: 'client_message_id', message: 'stands twice in the list' }] })
}

/** An edited message was still written by the first send, so its first revision is what counts. */
function saysTheSame(row: Row, message: NewMessage): boolean {
  const sameMetadata = row['version'] !== 1 || row['metadata'] === (message.metadata ? JSON.stringify(message.metadata) : null)
  return (
    sameMetadata &&
    row['role'] === message.role &&
    row['task_id'] === (message.task_id ?? null) &&
    row['first_content'] === JSON.stringify(message.content)
  )
}

/** What was loaded is the revision that the update is conditional on, and a revision never changes. */
function keepRevision(message: Row): Step {
  return {
    sql: 'INSERT INTO past_revisions (message_id, revision, content, created_at, created_by) VALUES (?, ?, ?, ?, ?) RETURNING revision',
    params: [
      message['message_id'] as string,
      message['revision'] as number,
      JSON.stringify(message['content']),
      (message['edited_at'] ?? message['created_at']) as string,
      (message['edited_by'] ?? message['created_by']) as string
    ],
    optional: true
  }
}
