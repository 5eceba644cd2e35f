import type { Dialect, Statement, Value } from '../database.js'

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  holdRows: () => '',
  mergeJson(column, patch): Statement {
    let sql = column
    const params: Value[] = []
    for (const [key, value] of Object.entries(patch)) {
      sql = value === null ? `json_remove(${sql}, ?)` : `json_set(${sql}, ?, json(?))`
      params.push(`$."${key}"`)
      if (value !== null) params.push(JSON.stringify(value))
    }
    return { sql, params }
  },
  rows: { each: 'json_each(?) AS input', at: (index) => `json_extract(input.value, '$[${index}]')`, position: '(input.key + 1)' }
}
