import { Type, type Static } from '@sinclair/typebox'
import { GRANT_LEVELS } from '../policy/levels.js'
import { defineSchema } from './service-schema.js'
import { closed, id, line, nullable, oneOf, stamps, version } from './types.js'

/** One line that says something. */
const reason = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$'
})

export const grantSchema = defineSchema({
  name: 'grants',
  id: 'grant_id',
  record: Type.Object({
    grant_id: id(),
    worktree_id: id(),
    user_id: id(),
    level: oneOf(GRANT_LEVELS),
    granted_by: nullable(id()),
    reason: nullable(line(1000)),
    version: version(),
    ...stamps
  }),
  create: Type.Object(
    { worktree_id: id(), user_id: id(), level: oneOf(GRANT_LEVELS), reason: Type.Optional(nullable(reason)) },
    closed
  ),
  patch: Type.Partial(Type.Object({ level: oneOf(GRANT_LEVELS), reason: nullable(reason) }), closed),
  filters: ['grant_id', 'worktree_id', 'user_id', 'level', 'granted_by', 'created_at', 'updated_at'],
  parents: ['worktree_id']
})

export type Grant = Static<typeof grantSchema.record>
export type GrantCreate = Static<typeof grantSchema.create>
export type GrantPatch = Static<typeof grantSchema.patch>
