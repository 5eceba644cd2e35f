import { Type, type Static } from '@sinclair/typebox'
import { defineSchema } from './service-schema.js'
import { closed, id, line, nullable, oneOf, stamps, time, version } from './types.js'

/** Keys are plain names, so that each can be merged inside the statement on both databases. `null` removes a key. */
const settings = Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }), Type.Unknown(), {
  additionalProperties: false,
  maxProperties: 100
})
const tools = Type.Array(line(200), { maxItems: 500 })

const writable = {
  title: nullable(line(500, 0)),
  agent: nullable(line(200)),
  model: nullable(line(200)),
  settings,
  tools: nullable(tools),
  pinned: Type.Boolean(),
  archived_at: nullable(time())
}

export const sessionSchema = defineSchema({
  name: 'sessions',
  id: 'session_id',
  record: Type.Object({
    session_id: id(),
    worktree_id: id(),
    ...writable,
    status: oneOf(['idle', 'running'] as const),
    message_count: Type.Integer({ minimum: 0 }),
    last_seq: Type.Integer({ minimum: 0 }),
    parent_session_id: nullable(id()),
    forked_from: nullable(Type.Object({ session_id: id(), seq: Type.Integer() })),
    version: version(),
    ...stamps
  }),
  create: Type.Object(
    { worktree_id: id(), ...Type.Partial(Type.Object(writable)).properties, parent_session_id: Type.Optional(nullable(id())) },
    closed
  ),
  patch: Type.Partial(Type.Object(writable), closed),
  filters: [
    'session_id',
    'worktree_id',
    'title',
    'agent',
    'model',
    'pinned',
    'archived_at',
    'parent_session_id',
    'created_at',
    'created_by',
    'updated_at'
  ],
  parents: ['worktree_id']
})

export type Session = Static<typeof sessionSchema.record>
export type SessionCreate = Static<typeof sessionSchema.create>
export type SessionPatch = Static<typeof sessionSchema.patch>
