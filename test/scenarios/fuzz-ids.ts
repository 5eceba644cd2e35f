import fc from 'fast-check'

/** Texts that are not an id: close to a real one, or far from it. */
export function hostileText(id: () => string): fc.Arbitrary<string> {
  const near = fc.constantFrom<(id: string) => string>(
    (it) => it.toUpperCase(),
    (it) => `{${it}}`,
    (it) => `urn:uuid:${it}`,
    (it) => it.replaceAll('-', ''),
    (it) => `${it} `,
    (it) => ` ${it}`,
    (it) => `${it}\n`,
    (it) => `${it}\0`,
    (it) => `${it}%00`,
    (it) => `${it}/`,
    (it) => `${it},${it}`,
    (it) => `${it}' OR '1'='1`,
    (it) => `${it.slice(0, -1)}%`,
    (it) => it.replace(/[0-9]/, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    (it) => it.replace('-7', '-4'),
    (it) => it.repeat(20)
  )
  const far = [
    '__proto__',
    'constructor',
    'toString',
    'null',
    'undefined',
    'true',
    'NaN',
    '*',
    '%',
    '_',
    '..',
    '.',
    '0',
    '-1',
    '1e9',
    '$ne',
    '{"$ne":null}',
    '[]',
    "' OR 1=1 --",
    'find',
    'a'.repeat(2000)
  ]
  return fc.oneof(
    near.map((change) => change(id())),
    fc
      .nat({ max: 35 })
      .filter((length) => length > 0)
      .map((length) => id().slice(0, length)),
    fc.constantFrom(...far),
    fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }),
    fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }),
    fc.uuid({ version: [1, 4, 5] })
  )
}

/** Not even a text. `undefined` is no id at all. */
export function hostileValue(id: () => string): fc.Arbitrary<unknown> {
  const near = fc.constantFrom<(id: string) => unknown>(
    () => ({ $ne: null }),
    () => ({ $gt: '' }),
    () => ({ $like: '%' }),
    (it) => ({ $in: [it] }),
    (it) => ({ $or: [{ session_id: it }] }),
    (it) => [it],
    (it) => [[it]],
    (it) => ({ 0: it, length: 1 }),
    (it) => ({ toString: it }),
    (it) => ({ id: it }),
    () => null
  )
  return fc.oneof(
    near.map((make) => make(id())),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== '')
  )
}
