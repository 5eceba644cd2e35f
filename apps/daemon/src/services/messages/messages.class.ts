import type { Paginated } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { decide } from '@stoa/core/policy/decide'
import type { MessageCreate, MessagePatch } from '@stoa/core/schema/messages'
import { contentColumns } from '../../db/content-columns.js'
import type { Row, Step, Value } from '../../db/database.js'
import { appendMessages, newMessage, type NewMessage } from '../../db/queries/append-messages.js'
import { asLoaded, changeMessage, type Counted } from '../../db/queries/change-message.js'
import { listMessages } from '../../db/queries/list-messages.js'
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
    const messages = (Array.isArray(data) ? data : [data]).map((message) => newMessage(this.deps.newId(), message))
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
    const written = data.content === undefined ? null : contentColumns(data.content)
    return await this.write(params, () => {
      const message = access.loaded!.record!
      const now = this.now()
      const values = { ...(data.metadata !== undefined && { metadata: data.metadata }), updated_at: now }
      const conditions = [...recordHolds(this.deps, access, table), asLoaded(message), new Sql('deleted_at IS NULL')]
      const entries = [this.allow(access, { change: 'patched', fields: access.fields })]
      if (!written) return { steps: [updateWhere(table, values, conditions)], entries }

      const edited = {
        ...values,
        ...written,
        content: new Sql('?', written.content),
        revision: new Sql('revision + 1'),
        edited_at: now,
        edited_by: access.who!.actor.user_id
      }
      const longer = written.tokens_estimated - (message['tokens_estimated'] as number)
      const change = updateWhere(table, edited, conditions)
      return { steps: [...this.change(access, { messages: 0, tokens: longer }, change), keepRevision(message)], entries }
    })
  }

  /** Leaves a tombstone: the number is never given again and the neighbours keep theirs. */
  async remove(_id: unknown, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const now = this.now()
    return await this.write(params, () => {
      const message = access.loaded!.record!
      const conditions = [...recordHolds(this.deps, access, table), asLoaded(message), new Sql('deleted_at IS NULL')]
      const change = updateWhere(table, { deleted_at: now, removal_id: null, updated_at: now }, conditions)
      return {
        steps: this.change(access, { messages: -1, tokens: -(message['tokens_estimated'] as number) }, change),
        entries: [this.allow(access, { change: 'removed' })]
      }
    })
  }

  private change(access: Access, counted: Counted, change: Step): Step[] {
    return changeMessage(this.deps.db.dialect, access.loaded!.record!, counted, stillAllowed(this.deps, access), change)
  }

  protected override async findPage(params: StoaParams): Promise<Paginated<Row>> {
    const { params: asked, finish } = listMessages(this.deps.db, params)
    return finish(await super.findPage(asked))
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
      `SELECT m.*, COALESCE((SELECT p.content FROM past_revisions p WHERE p.message_id = m.message_id AND p.revision = 1), m.content)
         AS first_content
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
    row['first_content'] === message.content
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
