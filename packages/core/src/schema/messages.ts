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
