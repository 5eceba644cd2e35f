import type { TSchema } from '@sinclair/typebox'
import { StoaError } from '@stoa/core/errors'
import type { ServiceSchema } from '@stoa/core/schema/service-schema'

/** `$select=a` and `field[$in]=a` are a list of one in a query string. */
export function normalizeLists(query: Record<string, unknown>): Record<string, unknown> {
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
export function normalizeTimes(schema: ServiceSchema, value: Record<string, unknown>): Record<string, unknown> {
  const normalize = (time: unknown): unknown => {
    if (typeof time === 'string') return toIso(time)
    if (Array.isArray(time)) return time.map(normalize)
    return isPlain(time)
      ? Object.fromEntries(Object.entries(time).map(([operator, inner]) => [operator, normalize(inner)]))
      : time
  }
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [field, isTime(schema.record.properties[field]) ? normalize(inner) : inner])
  )
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

export function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
