import { Type, type Static } from '@sinclair/typebox'
import { defineSchema } from './service-schema.js'
import { closed, id, jsonObject, line, nullable, oneOf, stamps, time, version } from './types.js'

export const MESSAGE_ROLES = ['user', 'assistant', 'system', 'tool'] as const
export const MAX_BATCH = 500

/** A string or a list of blocks, kept as it came: unknown block types too. */
const block = Type.Object({ type: line(100) }, { additionalProperties: true })
const content = Type.Union([Type.String(), Type.Array(block, { maxItems: 10_000 })])

export const messageSchema = defineSchema({
  name: 'messages',
  id: 'message_id',
  record: Type.Object({
    message_id: id(),
    session_id: id(),
    task_id: nullable(id()),
    seq: Type.Integer({ minimum: 1 }),
    role: oneOf(MESSAGE_ROLES),
    content: nullable(content),
    metadata: nullable(jsonObject()),
    client_message_id: nullable(line(200)),
    revision: Type.Integer({ minimum: 1 }),
    edited_at: nullable(time()),
    edited_by: nullable(id()),
    deleted_at: nullable(time()),
    preview: Type.String({ description: 'The beginning of its text, for lists that leave `content` out.' }),
    tokens_estimated: Type.Integer({ minimum: 0 }),
    boundary_seq: nullable(
      Type.Integer({ minimum: 1, description: 'Of a boundary: in the context it stands for everything up to this seq.' })
    ),
    snippet: Type.Optional(
      Type.String({ description: 'In a search: the text around what was found, as safe HTML with `<mark>`.' })
    ),
    version: version(),
    ...stamps
  }),
  create: Type.Object(
    {
      session_id: id(),
      task_id: Type.Optional(nullable(id())),
      role: oneOf(MESSAGE_ROLES),
      content: nullable(content),
      metadata: Type.Optional(nullable(jsonObject())),
      client_message_id: Type.Optional(line(200))
    },
    closed
  ),
  patch: Type.Partial(Type.Object({ content: nullable(content), metadata: nullable(jsonObject()) }), closed),
  filters: ['message_id', 'session_id', 'task_id', 'seq', 'role', 'client_message_id', 'created_at', 'created_by', 'updated_at'],
  parents: ['session_id', 'task_id', 'worktree_id']
})

export type Message = Static<typeof messageSchema.record>
export type MessageCreate = Static<typeof messageSchema.create>
export type MessagePatch = Static<typeof messageSchema.patch>
export type Content = Message['content']

/** Tombstones, for those who may bring them back. */
export const removedMessageSchema = defineSchema({
  name: 'removed-messages',
  id: 'message_id',
  record: messageSchema.record,
  filters: messageSchema.filters,
  parents: messageSchema.parents
})

/** What `find` of messages takes beside the query language. */
const seq = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }))
export const messageQuery = {
  after_seq: seq('Only what has a higher seq, lowest first: the next page after the last seq seen.'),
  before_seq: seq('Only what has a lower seq: the page before the first seq seen.'),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only messages that have all these words; `word*` is a beginning. Newest first, each with a `snippet`.'
    })
  ),
  include: Type.Optional(
    Type.Unsafe<'compacted'>({
      type: 'string',
      enum: ['compacted'],
      description: 'What a compaction left out of the context is always listed here; saying so changes nothing.'
    })
  )
}

export const messageRevisionSchema = defineSchema({
  name: 'message-revisions',
  id: 'revision',
  record: Type.Object({
    message_id: id(),
    revision: Type.Integer({ minimum: 1 }),
    content: nullable(content),
    created_at: time(),
    created_by: nullable(id())
  }),
  filters: ['revision'],
  parents: []
})
