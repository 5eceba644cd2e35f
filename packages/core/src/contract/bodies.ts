import { signInSchemas } from '../schema/authentication.js'
import { leasing, renewal, renewed } from '../schema/leases.js'
import { MAX_BATCH } from '../schema/messages.js'
import { compaction, forking, truncation, undoing } from '../schema/sessions.js'
import { nothing } from '../schema/types.js'
import { sweepReport, sweeping } from '../schema/sweeps.js'
import type { Operation } from './operations.js'
import { resourceOf } from './resources.js'

/** What an operation takes. */
export function requestBodyOf({ action, service, method }: Operation): object | undefined {
  const special = requests[action]
  if (special) return body(special)
  const one = resourceOf(service)?.one
  if (one && method === 'create') return body(schema(`${one}Create`))
  if (one && method === 'patch') return body(schema(`${one}Patch`))
  return undefined
}

/** What an operation answers when it went well. */
export function successOf({ action, service, method }: Operation): Record<string, object> {
  const special = successes[action]
  if (special) return special
  const one = resourceOf(service)?.one
  if (!one) return { 200: answer('It is done.', anything) }
  if (method === 'find') return { 200: answer('One page.', schema(`${one}Page`)) }
  if (method === 'create') return { 201: answer('The new record.', schema(one)) }
  return { 200: answer(method === 'remove' ? 'The record that was removed.' : 'The record.', schema(one)) }
}

export const bodySchemas = {
  SignIn: {
    description: 'A strategy and what it asks for.',
    anyOf: Object.values(signInSchemas)
  },
  SignedIn: object({ accessToken: { type: 'string' }, user: schema('User') }),
  TaskToken: object({
    token: { type: 'string', pattern: '^stoa_task_' },
    task_id: { $ref: '#/components/schemas/Task/properties/task_id' },
    session_id: { $ref: '#/components/schemas/Task/properties/session_id' },
    expires_at: { type: ['string', 'null'], format: 'date-time' }
  })
}

const count = { type: 'integer', minimum: 0 }
const undo = {
  undo_token: { type: 'string', description: 'For `undo`; absent when nothing was removed.' },
  undo_expires_at: { type: 'string', format: 'date-time' }
}
const truncated = { ...object({ kept: count, removed: count }), properties: { kept: count, removed: count, ...undo } }
const cleared = { ...object({ removed: count }), properties: { removed: count, ...undo } }
const compacted = object({
  message_id: { type: 'string' },
  boundary_seq: count,
  compacted: count,
  kept: count,
  tokens_estimated: count
})
const lease = object({
  lease_id: { type: 'string' },
  attempt: count,
  expires_at: { type: 'string', format: 'date-time' },
  token: { type: 'string', pattern: '^stoa_task_' },
  task: schema('Task'),
  session: schema('Session'),
  worktree: schema('Worktree')
})
const event = object({
  seq: count,
  at: { type: 'string', format: 'date-time' },
  by: { type: ['string', 'null'] },
  status: { type: 'string' },
  attempt: { type: ['integer', 'null'] }
})
const events = object({ total: count, limit: count, skip: count, data: { type: 'array', items: event } })
const context = object({
  session_id: { type: 'string' },
  messages: { type: 'array', items: schema('Message') },
  boundary_seq: count,
  last_seq: count,
  message_count: count,
  tokens_estimated: count,
  complete: { type: 'boolean', description: 'false: older messages were left out by `$limit`.' }
})

const oneOrMany = (name: string): object => ({
  anyOf: [schema(name), { type: 'array', items: schema(name), minItems: 1, maxItems: MAX_BATCH }]
})

const requests: Record<string, object> = {
  'authentication.create': schema('SignIn'),
  'sweeps.create': sweeping,
  'messages.create': oneOrMany('MessageCreate'),
  'leases.create': leasing,
  'leases.patch': renewal,
  'task-stops.create': nothing,
  'session-forks.create': forking,
  'session-truncations.create': truncation,
  'session-clears.create': nothing,
  'session-undos.create': undoing,
  'session-compactions.create': compaction,
  'message-restores.create': nothing
}

const anything = { type: 'object' }
const healthy = { 200: answer('It is well.', anything) }

const successes: Record<string, Record<string, object>> = {
  'authentication.create': { 201: answer('Signed in.', schema('SignedIn')) },
  'authentication.remove': { 200: answer('The token is revoked.', anything) },
  'task-tokens.create': { 201: answer('A token that is valid until the task ends.', schema('TaskToken')) },
  'tasks.create': {
    200: answer('The task of this `client_task_id`, which was created before.', schema('Task')),
    201: answer('The new record.', schema('Task'))
  },
  'messages.create': {
    200: answer('The first row of this `client_message_id`, which was appended before.', oneOrMany('Message')),
    201: answer('The appended message, or the list of them.', oneOrMany('Message'))
  },
  'leases.create': { 201: answer('A task to run.', lease), 204: { description: 'There is none.' } },
  'leases.patch': { 200: answer('How long it holds now, and whether to stop.', renewed) },
  'task-stops.create': { 201: answer('The task, stopped or asked to stop.', schema('Task')) },
  'task-events.find': { 200: answer('Every change of its status, in order.', events) },
  'session-forks.create': { 201: answer('The new session.', schema('Session')) },
  'session-truncations.create': { 201: answer('What was kept and what was removed.', truncated) },
  'session-clears.create': { 201: answer('What was removed.', cleared) },
  'session-undos.create': { 201: answer('What was restored.', object({ restored: count })) },
  'session-compactions.create': { 201: answer('Where the boundary is now.', compacted) },
  'session-context.find': { 200: answer('What the model is given next.', context) },
  'session-exports.find': {
    200: {
      description: 'The whole transcript as a file.',
      content: { 'application/json': { schema: anything }, 'text/markdown': { schema: { type: 'string' } } }
    }
  },
  'message-restores.create': { 201: answer('The message, back in its place.', schema('Message')) },
  'sweeps.create': { 201: answer('What was removed, or would be, and what was kept.', sweepReport) },
  'livez.get': healthy,
  'readyz.get': healthy,
  'health.get': { 200: answer('Details; always 200.', anything) },
  'metrics.get': { 200: { description: 'Prometheus text.', content: { 'text/plain': { schema: { type: 'string' } } } } },
  'openapi.get': { 200: answer('This document.', anything) }
}

function schema(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}

function body(content: object): object {
  return { required: true, content: { 'application/json': { schema: content } } }
}

function answer(description: string, content: object): object {
  return { description, content: { 'application/json': { schema: content } } }
}

function object(properties: Record<string, object>): object {
  return { type: 'object', required: Object.keys(properties), properties }
}
