import { Type, type Static } from '@sinclair/typebox'
import { defineSchema } from './service-schema.js'
import { closed, id, line, nullable, oneOf, stamps, time } from './types.js'

export const apiKeySchema = defineSchema({
  name: 'api-keys',
  id: 'api_key_id',
  record: Type.Object({
    api_key_id: id(),
    user_id: id(),
    name: line(200),
    scope: nullable(oneOf(['executor'] as const)),
    expires_at: nullable(time()),
    /** Only in the answer to create; stored as a hash. */
    secret: Type.Optional(Type.String()),
    ...stamps
  }),
  create: Type.Object(
    {
      name: line(200),
      scope: Type.Optional(nullable(oneOf(['executor'] as const))),
      expires_at: Type.Optional(nullable(time()))
    },
    closed
  ),
  filters: ['api_key_id', 'name', 'expires_at', 'created_at'],
  parents: []
})

export type ApiKey = Static<typeof apiKeySchema.record>
export type ApiKeyCreate = Static<typeof apiKeySchema.create>
