import { Type, type TObject, type TSchema } from '@sinclair/typebox'
import { Ajv, addFormats } from '@feathersjs/schema'
import { StoaError } from '@stoa/core/errors'
import type { ServiceSchema } from '@stoa/core/schema/service-schema'

/** Bodies are taken as they are; query strings have only text, so there numbers and booleans are read from it. */
const bodies = addFormats(new Ajv({ strict: false, allowUnionTypes: true }))
const queries = addFormats(new Ajv({ strict: false, allowUnionTypes: true, coerceTypes: true }))

/** Compiled when it is first needed: compiling all of them took half of the start. */
export type Check = () => ReturnType<Ajv['compile']>

export const compileBody = (schema: TSchema): Check => once(() => bodies.compile(schema))
export const compileQuery = (schema: TSchema): Check => once(() => queries.compile(schema))

/** Throws the first thing that is wrong, with the field it is about; the value itself is never repeated. */
export function check(compiled: Check, value: unknown): void {
  const validator = compiled()
  if (validator(value)) return
  const [first] = validator.errors ?? []
  const unknown = first?.keyword === 'additionalProperties' ? String(first.params['additionalProperty']) : null
  const field = [first?.instancePath.slice(1).replaceAll('/', '.'), unknown ?? first?.params['missingProperty']]
    .filter(Boolean)
    .join('.')
  throw new StoaError(unknown ? 'unknown_field' : 'invalid', {
    errors: [{ field: field.slice(0, 200), message: first?.message ?? 'is not valid' }]
  })
}

/** The query language of `find`: the documented fields, the usual operators, and nothing else. */
export function findQuery(schema: ServiceSchema, extra: Record<string, TSchema> = {}): TObject {
  const fields = Object.fromEntries(schema.filters.map((field) => [field, Type.Optional(filter(filterType(schema, field)))]))
  const some = Type.Object(fields, { additionalProperties: false })
  const each = Type.Object({ ...fields, $or: anyOf('some') }, { additionalProperties: false })
  return Type.Object(
    {
      ...fields,
      ...extra,
      $limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
      $skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
      $sort: Type.Optional(
        Type.Object(
          Object.fromEntries(
            schema.filters.map((field) => [field, Type.Optional(Type.Unsafe<1 | -1>({ type: 'integer', enum: [1, -1] }))])
          ),
          { additionalProperties: false }
        )
      ),
      $select: Type.Optional(selection(schema)),
      $or: anyOf('some'),
      $and: anyOf('each')
    },
    { additionalProperties: false, $defs: { some, each } }
  )
}

function anyOf(definition: string): TSchema {
  return Type.Optional(Type.Array(Type.Unsafe<object>({ $ref: `#/$defs/${definition}` }), { maxItems: 50 }))
}

/** What may stand in the query of get, patch and remove: a parent that is checked, a selection, a version. */
export function recordQuery(schema: ServiceSchema): TObject {
  const parents = Object.fromEntries(schema.parents.map((field) => [field, Type.Optional(Type.String())]))
  return Type.Object(
    { ...parents, $select: Type.Optional(selection(schema)), $version: Type.Optional(Type.Integer({ minimum: 1 })) },
    { additionalProperties: false }
  )
}

function selection(schema: ServiceSchema): TSchema {
  return Type.Array(Type.Unsafe<string>({ type: 'string', enum: Object.keys(schema.record.properties) }), { maxItems: 100 })
}

function filter(type: TSchema): TSchema {
  const several = Type.Array(type, { maxItems: 500 })
  const operators = Type.Object({ $gt: type, $gte: type, $lt: type, $lte: type, $ne: type, $in: several, $nin: several })
  return Type.Union([type, Type.Partial(operators, { additionalProperties: false })])
}

/** Columns that are not a field of the record by themselves (the journal's resource_type) are plain text. */
function filterType(schema: ServiceSchema, field: string): TSchema {
  const type = schema.record.properties[field] ?? Type.String({ maxLength: 200 })
  return type['type'] === 'integer' ? Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }) : type
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
