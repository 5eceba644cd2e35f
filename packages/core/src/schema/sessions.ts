import { Type, type Static } from '@sinclair/typebox'
import { defineSchema } from './service-schema.js'
import { closed, id, line, nullable, oneOf, stamps, time, version } from './types.js'

/** Keys are plain names, so that each can be merged inside the statement on both databases. `null` removes a key. */
const settings = Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }), Type.Unknown(), {
  additionalProperties: false,
  maxProperties: 100
})
/** A seq is stored as a 32-bit integer. */
const MAX_SEQ = 2_147_483_647

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
    boundary_seq: Type.Integer({ minimum: 0, description: 'The context begins after this seq; 0: at the start.' }),
    tokens_estimated: Type.Integer({ minimum: 0, description: 'Of the context.' }),
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

/** What can be done to the transcript of a session as a whole. */
export const truncation = Type.Object({ keep_count: Type.Integer({ minimum: 0, maximum: MAX_SEQ }) }, closed)
export const undoing = Type.Object({ undo_token: id() }, closed)
export const compaction = Type.Object(
  {
    summary: nullable(Type.String({ maxLength: 1_000_000, description: 'null: the context is cleared without a summary.' })),
    keep_last: Type.Integer({ minimum: 0, maximum: 10_000 }),
    last_seq: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_SEQ,
        description: 'The last seq that the summary was written from. What came later stays.'
      })
    )
  },
  closed
)
export const forking = Type.Object(
  {
    at_seq: Type.Integer({ minimum: 0, maximum: MAX_SEQ }),
    title: Type.Optional(nullable(line(500, 0))),
    worktree_id: Type.Optional(id())
  },
  closed
)

/** How many messages the context holds at most, newest first; a longer one has to be compacted or read in pages. */
export const CONTEXT_LIMIT = 1000
export const contextQuery = Type.Object(
  {
    include: Type.Optional(oneOf(['compacted'] as const)),
    $limit: Type.Optional(Type.Integer({ minimum: 0, maximum: CONTEXT_LIMIT }))
  },
  closed
)
export const EXPORT_FORMATS = ['json', 'md'] as const
export const exportQuery = Type.Object({ format: Type.Optional(oneOf(EXPORT_FORMATS)) }, closed)

export type Truncation = Static<typeof truncation>
export type Undoing = Static<typeof undoing>
export type Compaction = Static<typeof compaction>
export type Forking = Static<typeof forking>

export type Session = Static<typeof sessionSchema.record>
export type SessionCreate = Static<typeof sessionSchema.create>
export type SessionPatch = Static<typeof sessionSchema.patch>
