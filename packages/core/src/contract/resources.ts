import { apiKeySchema } from '../schema/api-keys.js'
import { grantSchema } from '../schema/grants.js'
import { journalSchema } from '../schema/journal.js'
import { messageRevisionSchema, messageSchema, removedMessageSchema } from '../schema/messages.js'
import type { ServiceSchema } from '../schema/service-schema.js'
import { sessionSchema } from '../schema/sessions.js'
import { taskSchema } from '../schema/tasks.js'
import { userSchema } from '../schema/users.js'
import { worktreeSchema } from '../schema/worktrees.js'

/** The services whose records have a schema, and what one of their records is called in the document. */
export const resources = {
  users: { schema: userSchema, one: 'User' },
  'api-keys': { schema: apiKeySchema, one: 'ApiKey' },
  worktrees: { schema: worktreeSchema, one: 'Worktree' },
  grants: { schema: grantSchema, one: 'Grant' },
  sessions: { schema: sessionSchema, one: 'Session' },
  tasks: { schema: taskSchema, one: 'Task' },
  messages: { schema: messageSchema, one: 'Message' },
  'removed-messages': { schema: removedMessageSchema, one: 'RemovedMessage' },
  'message-revisions': { schema: messageRevisionSchema, one: 'MessageRevision' },
  journal: { schema: journalSchema, one: 'JournalEntry' }
} as const satisfies Record<string, { schema: ServiceSchema; one: string }>

export type ServiceName = keyof typeof resources

export interface Resource {
  schema: ServiceSchema
  one: string
}

export function resourceOf(service: string): Resource | undefined {
  return Object.hasOwn(resources, service) ? resources[service as ServiceName] : undefined
}

export function idField(service: ServiceName): string {
  return resources[service].schema.id
}

/** Each schema once, under its name; everything else refers to it. */
export function recordSchemas(): Record<string, object> {
  const schemas: Record<string, object> = {}
  for (const { schema, one } of Object.values<Resource>(resources)) {
    schemas[one] = schema.record
    if (schema.create) schemas[`${one}Create`] = schema.create
    if (schema.patch) schemas[`${one}Patch`] = schema.patch
    schemas[`${one}Page`] = page(one)
  }
  return schemas
}

function page(one: string): object {
  const count = { type: 'integer', minimum: 0 }
  return {
    type: 'object',
    required: ['total', 'limit', 'skip', 'data'],
    properties: {
      total: { ...count, description: 'How many there are that the caller may see.' },
      limit: count,
      skip: count,
      data: { type: 'array', items: { $ref: `#/components/schemas/${one}` } }
    }
  }
}
