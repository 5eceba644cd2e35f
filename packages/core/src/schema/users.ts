import { Type, type Static } from '@sinclair/typebox'
import { ROLES } from '../policy/levels.js'
import { defineSchema } from './service-schema.js'
import { closed, id, line, oneOf, stamps, version } from './types.js'

const email = Type.String({ minLength: 3, maxLength: 254, pattern: '^[^\\s@\\u0000-\\u001f]+@[^\\s@\\u0000-\\u001f]+$' })
const password = Type.String({ minLength: 8, maxLength: 256 })

export const userSchema = defineSchema({
  name: 'users',
  id: 'user_id',
  record: Type.Object({
    user_id: id(),
    /** Present for admins and for the user themself. */
    email: Type.Optional(email),
    name: line(200),
    role: oneOf(ROLES),
    active: Type.Boolean(),
    version: version(),
    ...stamps
  }),
  create: Type.Object({ email, name: line(200), password, role: Type.Optional(oneOf(ROLES)) }, closed),
  patch: Type.Partial(Type.Object({ email, name: line(200), password, role: oneOf(ROLES), active: Type.Boolean() }), closed),
  filters: ['user_id', 'name', 'role', 'active', 'created_at', 'updated_at'],
  parents: []
})

export type User = Static<typeof userSchema.record>
export type UserCreate = Static<typeof userSchema.create>
export type UserPatch = Static<typeof userSchema.patch>
