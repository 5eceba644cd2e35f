import type { NextFunction } from '@feathersjs/feathers'
import type { TSchema } from '@sinclair/typebox'
import { StoaError } from '@stoa/core/errors'
import { isId } from '@stoa/core/ids'
import type { ServiceSchema } from '@stoa/core/schema/service-schema'
import { accessOf, type Access, type Context } from './access.js'
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
    if (context.method === 'find') {
      check(validators.find, normalizeLists(query))
      context.params.query = normalizeTimes(schema, query)
      return next()
    }
    if (context.method !== 'create') takeId(access, context.id)
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
    if (items.length === 0 || items.length > (batch ?? 1)) throw new StoaError('invalid', { message: `Send between 1 and ${batch} records.` })
    const [parent] = schema.parents
    const filled = items.map((item) => (parent && isPlain(item) && item[parent] === undefined && query[parent] !== undefined ? { ...item, [parent]: query[parent] } : item))
    for (const item of filled) {
      check(validators.create!, item)
      refuseBrokenText(item as Record<string, unknown>)
    }
    if (parent) takeClaims(access, query, 'query', schema)
    access.fields = [...new Set(filled.flatMap((item) => Object.keys(item as object)))]
    access.reason = filled.every((item) => Boolean((item as { reason?: unknown }).reason))
    return Array.isArray(data) ? filled.map((item) => normalizeTimes(schema, item as Record<string, unknown>)) : normalizeTimes(schema, filled[0] as Record<string, unknown>)
  }

  function takePatch(access: Access, data: unknown): unknown {
    refuseHostile(data)
    if (!isPlain(data)) throw new StoaError('invalid', { message: 'Send an object with the fields to change.' })
    const fields = Object.keys(data)
    const patchable = schema.patch!.properties
    const known = { ...schema.record.properties, ...Object.fromEntries(schema.parents.map((field) => [field, true])) }
    const unknown = fields.find((field) => !Object.hasOwn(known, field) && !Object.hasOwn(patchable, field))
    if (unknown) throw new StoaError('unknown_field', { errors: [{ field: unknown.slice(0, 200), message: 'does not exist here' }] })
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

function takeId(access: Access, id: unknown): void {
  if (id === null || id === undefined) throw new StoaError('method_not_allowed', { message: 'Name one record: this is not offered on all of them.' })
  if (!isId(id)) throw new StoaError('invalid', { errors: [{ field: 'id', message: 'is not a UUIDv7 in lower case' }] })
  access.resource_id = id
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

/** Deeper than any transcript block; validators and JSON.stringify recurse, and must not run out of stack. */
const MAX_DEPTH = 64

/** NUL cannot be stored on every database, and a `__proto__` key is never data. */
function refuseHostile(value: unknown, depth = 0): void {
  if (typeof value === 'string' && value.includes('\0')) throw new StoaError('invalid', { message: 'Text must not contain NUL characters.' })
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_DEPTH) throw new StoaError('invalid', { message: `JSON may be nested ${MAX_DEPTH} levels deep at most.` })
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__' || key.includes('\0')) throw new StoaError('invalid', { message: 'The request has a field name that is not allowed.' })
    refuseHostile(inner, depth + 1)
  }
}

/** Half a surrogate pair cannot be stored as text; inside JSON (content, metadata, settings) it is kept as an escape. */
function refuseBrokenText(data: Record<string, unknown>): void {
  const broken = Object.keys(data).find((field) => field !== 'content' && typeof data[field] === 'string' && !data[field].isWellFormed())
  if (broken) throw new StoaError('invalid', { errors: [{ field: broken, message: 'is not well-formed Unicode' }] })
}

/** `$select=a` and `field[$in]=a` are a list of one in a query string. */
function normalizeLists(query: Record<string, unknown>): Record<string, unknown> {
  if (typeof query['$select'] === 'string') query['$select'] = [query['$select']]
  for (const [field, value] of Object.entries(query)) {
    if (!isPlain(value)) continue
    const copy = { ...value }
    for (const operator of ['$in', '$nin']) if (typeof copy[operator] === 'string') copy[operator] = [copy[operator]]
    query[field] = copy
  }
  return query
}

/** Times are stored as text and compared as text, so every one has the same form. */
function normalizeTimes(schema: ServiceSchema, value: Record<string, unknown>): Record<string, unknown> {
  const normalize = (time: unknown): unknown => {
    if (typeof time === 'string') return toIso(time)
    if (Array.isArray(time)) return time.map(normalize)
    return isPlain(time) ? Object.fromEntries(Object.entries(time).map(([operator, inner]) => [operator, normalize(inner)])) : time
  }
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, isTime(schema.record.properties[field]) ? normalize(inner) : inner]))
}

/** Some well-formed times are on no clock (a leap second). */
function toIso(time: string): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) throw new StoaError('invalid', { message: 'A time is not one that a clock shows.' })
  return date.toISOString()
}

function isTime(type: TSchema | undefined): boolean {
  return type?.['format'] === 'date-time' || (type?.['anyOf'] as TSchema[] | undefined)?.some(isTime) === true
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
