import { Type, type Static } from '@sinclair/typebox'
import { defineSchema } from './service-schema.js'
import { id, jsonObject, nullable, oneOf, time } from './types.js'

const text = () => nullable(Type.String())

export const journalSchema = defineSchema({
  name: 'journal',
  id: 'id',
  record: Type.Object({
    seq: Type.Integer({ minimum: 1 }),
    id: id(),
    ts: time(),
    kind: Type.String(),
    decision: oneOf(['allow', 'deny'] as const),
    reason_code: Type.String(),
    reason: Type.String(),
    actor_id: nullable(id()),
    actor: nullable(jsonObject()),
    credential: nullable(jsonObject()),
    action: Type.String(),
    service: Type.String(),
    method: Type.String(),
    transport: Type.String(),
    worktree_id: nullable(id()),
    session_id: nullable(id()),
    resource: Type.Object({ type: Type.String(), id: text(), claimed: text(), actual: text() }),
    spoofed: Type.Boolean(),
    basis: nullable(jsonObject()),
    trace: Type.Array(jsonObject()),
    effect: nullable(jsonObject()),
    version: nullable(Type.Integer()),
    request: jsonObject()
  }),
  filters: [
    'seq',
    'id',
    'ts',
    'kind',
    'decision',
    'reason_code',
    'actor_id',
    'action',
    'service',
    'method',
    'transport',
    'worktree_id',
    'session_id',
    'resource_type',
    'resource_id',
    'spoofed'
  ],
  parents: []
})

export type JournalRecord = Static<typeof journalSchema.record>
