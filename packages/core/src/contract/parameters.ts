import type { TSchema } from '@sinclair/typebox'
import { ID_PATTERN } from '../ids.js'
import { messageQuery } from '../schema/messages.js'
import { contextQuery, exportQuery } from '../schema/sessions.js'
import { eventsQuery } from '../schema/tasks.js'
import { PAGE, type ServiceSchema } from '../schema/service-schema.js'
import type { Operation } from './operations.js'
import { resourceOf, type Resource } from './resources.js'

/** What may stand in the path, the query and the headers of one operation. */
export function parametersOf(operation: Operation): object[] {
  const resource = resourceOf(operation.service)
  return [
    ...operation.ids.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string', pattern: ID_PATTERN } })),
    ...(resource ? queryOf(operation, resource) : plainQuery(queries[operation.action] ?? {}))
  ]
}

export const sharedParameters = {
  Limit: {
    name: '$limit',
    in: 'query',
    description: 'How many records at most.',
    schema: { type: 'integer', minimum: 0, maximum: PAGE.max, default: PAGE.default }
  },
  Skip: {
    name: '$skip',
    in: 'query',
    description: 'How many records to leave out at the start.',
    schema: { type: 'integer', minimum: 0, default: 0 }
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The version that the change was made for, in quotes. Another one by now: 412.',
    schema: { type: 'string', pattern: '^"[0-9]+"$' }
  }
} as const

const shared = (name: keyof typeof sharedParameters): object => ({ $ref: `#/components/parameters/${name}` })

/** What is asked for beside the query language, or instead of it. */
const queries: Record<string, Record<string, TSchema>> = {
  'messages.find': messageQuery,
  'journal.find': { after_seq: messageQuery.after_seq },
  'task-events.find': eventsQuery.properties,
  'session-context.find': contextQuery.properties,
  'session-exports.find': exportQuery.properties
}

function plainQuery(properties: Record<string, TSchema>): object[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description && { description }),
    schema
  }))
}

function queryOf({ action, method, ids }: Operation, resource: Resource): object[] {
  const { schema } = resource
  switch (method) {
    case 'create':
      return []
    case 'find':
      return [
        shared('Limit'),
        shared('Skip'),
        sort(schema.filters),
        select(schema),
        ...plainQuery(queries[action] ?? {}),
        ...schema.filters.filter((field) => !ids.includes(field)).map((field) => filter(field, resource))
      ]
    case 'get':
      return [select(schema), ...schema.parents.map(claim)]
    case 'patch':
      return [...ifMatch(schema), select(schema), ...schema.parents.map(claim)]
    case 'remove':
      return [...ifMatch(schema), select(schema), ...schema.parents.map(claim)]
  }
}

function ifMatch(schema: ServiceSchema): object[] {
  return 'version' in schema.record.properties ? [shared('IfMatch')] : []
}

function sort(fields: readonly string[]): object {
  const direction = { type: 'integer', enum: [1, -1] }
  return {
    name: '$sort',
    in: 'query',
    description: '`$sort[field]=1` rises, `-1` falls.',
    style: 'deepObject',
    explode: true,
    schema: {
      type: 'object',
      properties: Object.fromEntries(fields.map((field) => [field, direction])),
      additionalProperties: false
    }
  }
}

function select({ record }: Resource['schema']): object {
  return {
    name: '$select',
    in: 'query',
    description: 'Only these fields.',
    schema: { type: 'array', items: { type: 'string', enum: Object.keys(record.properties) } }
  }
}

const COMPARISONS = ['$ne', '$lt', '$lte', '$gt', '$gte']
const LISTS = ['$in', '$nin']

function filter(field: string, { schema, one }: Resource): object {
  // A filter may be on a part of a field that the record shows as an object, such as the journal's resource.
  const value =
    field in schema.record.properties ? { $ref: `#/components/schemas/${one}/properties/${field}` } : { type: 'string' }
  const operators = Object.fromEntries([
    ...COMPARISONS.map((operator) => [operator, value]),
    ...LISTS.map((operator) => [operator, { type: 'array', items: value }])
  ])
  return {
    name: field,
    in: 'query',
    description: `\`${field}=value\`, or an operator: \`${field}[$gte]=value\`.`,
    style: 'deepObject',
    explode: true,
    schema: { anyOf: [value, { type: 'object', properties: operators, additionalProperties: false }] }
  }
}

function claim(parent: string): object {
  return {
    name: parent,
    in: 'query',
    description: 'The parent that the record is expected to have; another one is 400 `parent_mismatch`. Never needed.',
    schema: { type: 'string', pattern: ID_PATTERN }
  }
}
