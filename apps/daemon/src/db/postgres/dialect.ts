import type { Dialect, Statement } from '../database.js'

export const postgresDialect: Dialect = {
  name: 'postgres',
  holdRows: (...aliases) => ` FOR SHARE OF ${aliases.join(', ')}`,
  keepRows: (...aliases) => ` FOR KEY SHARE OF ${aliases.join(', ')}`,
  search(terms) {
    const words = terms.map(({ word, prefix }) => `'${word}'${prefix ? ':*' : ''}`).join(' & ')
    return {
      from: 'messages',
      where: { sql: 'words_vector(messages.words) @@ CAST(? AS tsquery)', params: [words] },
      newestFirst: 'messages.message_id DESC'
    }
  },
  readJson: (column, key) => `(${column}::jsonb ->> '${key}')`,
  countedId: (position) => `CAST(? AS text) || lpad(to_hex(CAST(? AS bigint) + ${position}), 12, '0')`,
  mergeJson(column, patch): Statement {
    const removed = Object.keys(patch).filter((key) => patch[key] === null)
    const kept = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null))
    return {
      sql: `((${column}::jsonb || ?::jsonb) - ARRAY(SELECT jsonb_array_elements_text(?::jsonb)))::text`,
      params: [JSON.stringify(kept), JSON.stringify(removed)]
    }
  },
  rows: {
    each: 'jsonb_array_elements(?::jsonb) WITH ORDINALITY AS input (value, position)',
    at: (index, type) => `(input.value ->> ${index})::${type}`,
    position: 'input.position'
  }
}
