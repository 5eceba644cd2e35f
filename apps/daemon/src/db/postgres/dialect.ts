import type { Dialect, Statement } from '../database.js'

export const postgresDialect: Dialect = {
  name: 'postgres',
  holdRows: (...aliases) => ` FOR SHARE OF ${aliases.join(', ')}`,
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
