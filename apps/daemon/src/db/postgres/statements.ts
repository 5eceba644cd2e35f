import { createHash } from 'node:crypto'
import type { QueryConfig } from 'pg'
import type { Value } from '../database.js'

interface Prepared {
  name: string
  text: string
}

/** Statement texts are few and written in this code base, so each is named once and every connection keeps its plan. */
const prepared = new Map<string, Prepared>()

/** Turns `?` into `$1 …` and gives the statement a name under which PostgreSQL keeps it. */
export function prepare(sql: string, params: Value[]): QueryConfig {
  let statement = prepared.get(sql)
  if (!statement) {
    let position = 0
    const text = sql.replaceAll('?', () => `$${(position += 1)}`)
    statement = { name: `stoa_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`, text }
    prepared.set(sql, statement)
  }
  return { ...statement, values: params }
}
