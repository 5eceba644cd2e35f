import type { NextFunction } from '@feathersjs/feathers'
import type { TSchema } from '@sinclair/typebox'
import { StoaError } from '@stoa/core/errors'
import { isId } from '@stoa/core/ids'
import type { ServiceSchema } from '@stoa/core/schema/service-schema'
import { accessOf, type Access, type Context } from './access.js'
import { isPlain, normalizeLists, normalizeTimes } from './normalize.js'
import { checkedId } from './take-route-id.js'
import { refuseBrokenText, refuseEndless, refuseHostile } from './refuse-hostile.js'
import { check, compileBody, compileQuery, findQuery, recordQuery } from './validators.js'

export interface ValidateOptions {
  schema: ServiceSchema
  /** Query parameters of `find` beside the query language. */
  findExtra?: Record<string, TSchema>
  /** A list is taken by `create`, of at most this many. */
  batch?: number
}

/**
 * Checks the form of a request before anything is loaded: ids, body and query against the schema, nothing without an id.
 * Parent and identity fields in a patch are only noted here: whether the caller learns about them depends on whether
 * they can see the record (authorize).
 */
export function validate({ schema, findExtra, batch }: ValidateOptions) {
  const validators = {
    create: schema.create && compileBody(schema.create),
    patch: schema.patch && compileBody(schema.patch),
    find: compileQuery(findQuery(schema, findExtra)),
    record: compileQuery(recordQuery(schema))
  }

  return async (context: Context, next: NextFunction): Promise<void> => {
    const access = accessOf(context.params)
    const query = { ...context.params.query }
    refuseHostile(query)
    refuseEndless(query)
    if (context.method === 'find') {
      check(validators.find, normalizeLists(query))
      context.params.query = normalizeTimes(schema, query)
      return next()
    }
    if (context.method !== 'create') access.resource_id = checkedId(context.id)
    check(validators.record, normalizeLists(query))
    takeVersion(access, context, query)
    if (context.method === 'create') {
      context.data = takeCreate(access, context.data, query)
    } else {
      takeClaims(access, query, 'query', schema)
      if (context.method === 'patch') context.data = takePatch(access, context.data)
    }
    context.params.query = query
    await next()
  }

  function takeCreate(access: Access, data: unknown, query: Record<string, unknown>): unknown {
    refuseHostile(data)
    const items = Array.isArray(data) ? data : [data]
    if (Array.isArray(data) && !batch) throw new StoaError('invalid', { message: 'A list is not taken here: send one record.' })
    if (items.length === 0 || items.length > (batch ?? 1))
      throw new StoaError('invalid', { message: `Send between 1 and ${batch} records.` })
    const [parent] = schema.parents
    const filled = items.map((item) =>
      parent && isPlain(item) && item[parent] === undefined && query[parent] !== undefined
        ? { ...item, [parent]: query[parent] }
        : item
    )
    for (const item of filled) {
      check(validators.create!, item)
      refuseBrokenText(item as Record<string, unknown>)
    }
    if (parent) takeClaims(access, query, 'query', schema)
    access.fields = [...new Set(filled.flatMap((item) => Object.keys(item as object)))]
    access.reason = filled.every((item) => Boolean((item as { reason?: unknown }).reason))
    return Array.isArray(data)
      ? filled.map((item) => normalizeTimes(schema, item as Record<string, unknown>))
      : normalizeTimes(schema, filled[0] as Record<string, unknown>)
  }

  function takePatch(access: Access, data: unknown): unknown {
    refuseHostile(data)
    if (!isPlain(data)) throw new StoaError('invalid', { message: 'Send an object with the fields to change.' })
    const fields = Object.keys(data)
    const patchable = schema.patch!.properties
    const known = { ...schema.record.properties, ...Object.fromEntries(schema.parents.map((field) => [field, true])) }
    const unknown = fields.find((field) => !Object.hasOwn(known, field) && !Object.hasOwn(patchable, field))
    if (unknown)
      throw new StoaError('unknown_field', { errors: [{ field: unknown.slice(0, 200), message: 'does not exist here' }] })
    if (fields.length === 0) throw new StoaError('invalid', { message: 'The patch is empty.' })
    const changes = Object.fromEntries(Object.entries(data).filter(([field]) => Object.hasOwn(patchable, field)))
    check(validators.patch!, changes)
    refuseBrokenText(changes)
    takeClaims(access, data, 'data', schema)
    access.immutable = fields.filter((field) => !Object.hasOwn(patchable, field))
    access.fields = Object.keys(changes)
    access.reason = Boolean(changes['reason'])
    return normalizeTimes(schema, changes)
  }
}

/** Over HTTP a version comes in `If-Match`; a socket has only the headers of its handshake, so there it is `$version`. */
function takeVersion(access: Access, context: Context, query: Record<string, unknown>): void {
  const header = access.request.transport === 'rest' ? context.params.headers?.['if-match'] : undefined
  if (header !== undefined && header !== '*') {
    const version = /^(?:W\/)?"?([1-9][0-9]{0,9})"?$/.exec(header)?.[1]
    if (!version) throw new StoaError('invalid', { errors: [{ field: 'If-Match', message: 'must be a version in quotes' }] })
    access.ifMatch = Number(version)
  }
  if (typeof query['$version'] === 'number') access.ifMatch = query['$version']
  delete query['$version']
}

function takeClaims(access: Access, from: Record<string, unknown>, where: 'data' | 'query', schema: ServiceSchema): void {
  for (const field of schema.parents) {
    const value = from[field]
    if (value === undefined || (value === null && where === 'data')) continue
    if (!isId(value)) throw new StoaError('invalid', { errors: [{ field, message: 'is not a UUIDv7 in lower case' }] })
    access.claims.push({ field, value, from: where })
    if (where === 'query') delete from[field]
  }
}
