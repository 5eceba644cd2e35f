import { Type, type TSchema } from '@sinclair/typebox'
import { ID_PATTERN } from '../ids.js'

/** The pieces that all schemas are built from. */
export const id = () => Type.String({ pattern: ID_PATTERN, description: 'UUIDv7' })
export const time = () => Type.String({ format: 'date-time', description: 'ISO 8601 UTC with milliseconds' })
export const version = () => Type.Integer({ minimum: 1 })
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] })

/** One line of text for people: no control characters, so it can't break a log line or a terminal. */
export const line = (maxLength: number, minLength = 1) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$' })

export const closed = { additionalProperties: false } as const

/** All that is needed stands in the path. */
export const nothing = Type.Object({}, closed)

/** Any JSON object, kept as it is. */
export const jsonObject = () => Type.Record(Type.String(), Type.Unknown())

/** What every record carries. */
export const stamps = {
  created_at: time(),
  created_by: nullable(id()),
  updated_at: time()
}
