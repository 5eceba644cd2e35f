import type { Dialect, Statement, Value } from '../database.js'

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  holdRows: () => '',
  keepRows: () => '',
  search(terms, sessionId) {
    const words = terms.map(({ word, prefix }) => `"${word}"${prefix ? '*' : ''}`).join(' AND ')
    const within = sessionId ? ` AND session : "${sessionId.replaceAll('-', '')}"` : ''
    return {
      // CROSS, which SQLite does not turn round: else it goes through the session's messages and asks the index for each of
      // them (7 s in a session of 10,000).
      from: 'message_words CROSS JOIN messages ON messages.row_id = message_words.rowid',
      where: { sql: 'message_words MATCH ?', params: [`words : (${words})${within}`] },
      newestFirst: 'message_words.rowid DESC'
    }
  },
  // The cast, because an index on an expression without a type is not searched for the value of a text column.
  readJson: (column, key) => `CAST(json_extract(${column}, '$.${key}') AS TEXT)`,
  countedId: (position) => `? || printf('%012x', ? + ${position})`,
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
