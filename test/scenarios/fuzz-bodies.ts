import fc from 'fast-check'
import type { Body } from '../support/client.js'
import { FIELDS, KEYS, type FuzzDoor, type Service } from './fuzz-scene.js'

/** A body for this service, more or less. */
export function body(service: Service): fc.Arbitrary<unknown> {
  return madeOf(word(service))
}

/** A body, or a query, for what hangs on one record. */
export function doorBody({ fields }: FuzzDoor): fc.Arbitrary<unknown> {
  return madeOf(
    fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...fields) }, { weight: 1, arbitrary: fc.constantFrom(...WORDS) })
  )
}

function madeOf(words: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const fields = fc.dictionary(words, value, { maxKeys: 2 })
  return fc.oneof(
    { weight: 8, arbitrary: fields },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    { weight: 1, arbitrary: fc.array(fields, { maxLength: 3 }) }
  )
}

export function query(service: Service): fc.Arbitrary<Body> {
  const operator = fc.dictionary(
    fc.constantFrom('$ne', '$in', '$nin', '$gt', '$gte', '$lt', '$lte', '$like'),
    fc.oneof(value, fc.array(value, { maxLength: 3 })),
    { minKeys: 1, maxKeys: 2 }
  )
  const filters = fc.dictionary(word(service), fc.oneof(value, operator), { maxKeys: 2 })
  return fc.oneof(
    { weight: 4, arbitrary: filters },
    { weight: 1, arbitrary: fc.array(filters, { maxLength: 3 }).map(($or) => ({ $or })) },
    { weight: 1, arbitrary: filters.map(($sort) => ({ $sort })) }
  )
}

/** Mostly the service's own fields, else words that mean something elsewhere. */
const word = (service: Service) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(KEYS[service], ...FIELDS[service]) },
    { weight: 1, arbitrary: fc.constantFrom(...WORDS) }
  )

const WORDS = [
  '$or',
  '$and',
  '$ne',
  '$like',
  '$limit',
  '$skip',
  '$sort',
  '$select',
  '$version',
  'constructor',
  'toString',
  'password_hash',
  'version',
  'session_id',
  'created_at',
  'created_by',
  'nonsense'
]

const odd: unknown[] = [
  null,
  true,
  '',
  '0',
  '-1',
  1e308,
  -1e308,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  0.1,
  '\0',
  '\ud800',
  'a\udc00',
  '%',
  "' OR 1=1 --",
  '2016-12-31T23:59:60Z',
  '9999-12-31T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '2020-01-01T00:00:00+23:59',
  '2020-01-01T00:00:00Z',
  [],
  {},
  [[]],
  ['\ud800'],
  { a: '\ud800' },
  { $ne: null },
  { password_hash: 1 },
  'x'.repeat(5000)
]
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...odd) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: 3 }) }
)
