import { catalogue, type ErrorCode } from '../errors.js'
import type { Operation } from './operations.js'

const codes = Object.keys(catalogue) as ErrorCode[]
const statuses = [...new Set(codes.map((code) => catalogue[code].status as number))].sort()

/** One response per status, with the codes that `data.code` may have there. */
export function errorResponses(): Record<string, object> {
  return Object.fromEntries(statuses.map((status) => [`Error${status}`, errorResponse(status)]))
}

export const errorSchema = {
  type: 'object',
  description: 'The error JSON of Feathers. What happened is in `data.code`; `message` is for people and may be reworded.',
  required: ['name', 'message', 'code', 'className', 'data'],
  properties: {
    name: { type: 'string' },
    message: { type: 'string' },
    code: { type: 'integer', description: 'The HTTP status.' },
    className: { type: 'string' },
    data: {
      type: 'object',
      required: ['code', 'request_id'],
      properties: {
        code: { type: 'string', enum: codes },
        request_id: { type: 'string' },
        decision_id: { type: 'string', description: 'The row of the journal that holds the decision.' },
        need: { type: 'string', description: 'What the rule asks for (403).' },
        have: { type: 'string', description: 'What the caller has (403).' },
        rule: { type: 'string', description: 'The rule that refused (403).' },
        smallest_grant: { type: ['object', 'null'], description: 'The least that would allow it (403).' },
        current_version: { type: 'integer', description: 'The version of the record now (412).' }
      }
    },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } }
      }
    }
  }
}

/** The refusals that an operation can meet. 405 is not among them: it is the answer to what is no operation. */
export function errorsOf({ action, policy, method, ids }: Operation): Record<string, object> {
  const isPublic = policy.anyOf.some((rule) => rule.by === 'anyone')
  const writes = method !== 'find' && method !== 'get'
  const daemon = policy.resource === 'daemon'
  const met: Record<number, boolean> = {
    400: !daemon || writes,
    401: !isPublic || writes,
    403: !isPublic,
    404: !isPublic && (ids.length > 0 || (method === 'create' && !daemon)),
    409: writes && !isPublic,
    412: method === 'patch' || method === 'remove',
    413: method === 'create' || method === 'patch',
    429: action === 'authentication.create',
    500: true,
    503: true
  }
  return Object.fromEntries(
    statuses.filter((status) => met[status]).map((status) => [status, { $ref: `#/components/responses/Error${status}` }])
  )
}

function errorResponse(status: number): object {
  const here = codes.filter((code) => catalogue[code].status === status)
  return {
    description: here.map((code) => `\`${code}\`: ${catalogue[code].message}`).join('\n\n'),
    headers: {
      'X-Request-Id': { schema: { type: 'string' } },
      'X-Decision-Id': { description: 'Where a decision was made.', schema: { type: 'string' } }
    },
    content: {
      'application/json': { schema: withCodes(here) },
      'application/problem+json': { schema: { type: 'object', description: 'When `Accept` asks for it (RFC 9457).' } }
    }
  }
}

function withCodes(here: readonly ErrorCode[]): object {
  const data = { type: 'object', properties: { code: { enum: here } } }
  return { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { data } }] }
}
