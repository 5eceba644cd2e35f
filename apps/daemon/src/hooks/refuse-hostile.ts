import { StoaError } from '@stoa/core/errors'

/** NUL cannot be stored on every database, and a `__proto__` key is never data. */
export function refuseHostile(value: unknown, depth = 0): void {
  if (typeof value === 'string' && value.includes('\0'))
    throw new StoaError('invalid', { message: 'Text must not contain NUL characters.' })
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_DEPTH) throw new StoaError('invalid', { message: `JSON may be nested ${MAX_DEPTH} levels deep at most.` })
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__' || key.includes('\0'))
      throw new StoaError('invalid', { message: 'The request has a field name that is not allowed.' })
    refuseHostile(inner, depth + 1)
  }
}

/** More conditions than a database takes in one statement (SQLite: 32,766 parameters) is the caller's error. */
export function refuseEndless(query: object): void {
  if (countValues(query) > MAX_VALUES)
    throw new StoaError('invalid', { message: `A query may have ${MAX_VALUES} values at most.` })
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 0)
}

/** Half a surrogate pair cannot be stored as text; inside JSON that is only kept (content, metadata) it is kept as an escape. */
export function refuseBrokenText(data: Record<string, unknown>): void {
  const broken = Object.keys(data).find((field) => {
    const value = data[field]
    if (field === 'settings') return LONE_SURROGATE.test(JSON.stringify(value))
    return field !== 'content' && typeof value === 'string' && !value.isWellFormed()
  })
  if (broken) throw new StoaError('invalid', { errors: [{ field: broken, message: 'is not well-formed Unicode' }] })
}

/** How JSON.stringify writes half a pair: an escape that is not itself escaped. `settings` are merged by the database, which refuses it. */
const LONE_SURROGATE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/

const MAX_VALUES = 5_000

/** Deeper than any transcript block; validators and JSON.stringify recurse, and must not run out of stack. */
const MAX_DEPTH = 64
