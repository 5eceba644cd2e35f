import type { Statement, Step, Value } from './database.js'
import { encodeColumn, storedColumns, type Table } from './tables.js'

/** SQL that we wrote, with its parameters. A class, because a caller's JSON could look like any plain object. */
export class Sql implements Statement {
  readonly params: Value[]

  constructor(
    readonly sql: string,
    ...params: Value[]
  ) {
    this.params = params
  }
}

/** `INSERT … SELECT … WHERE`: a row is added only while the conditions hold. What is null is left to the column's default. */
export function insertWhere(table: Table, values: Record<string, unknown>, conditions: Statement[]): Step {
  const columns = inOrder(values).filter((column) => values[column] !== null && values[column] !== undefined)
  const selected = columns.map((column) => castFor(values[column]))
  return {
    sql: `
      INSERT INTO ${table.name} (${columns.join(', ')})
      SELECT ${selected.join(', ')} ${where(conditions)}
      RETURNING ${returning(table)}`,
    params: [...columns.map((column) => encodeColumn(table, column, values[column])), ...paramsOf(conditions)]
  }
}

/** Sets columns of one row and bumps its version, only while the conditions hold. A value may be an expression. */
export function updateWhere(table: Table, values: Record<string, unknown>, conditions: Statement[]): Step {
  const sets = inOrder(values).map((column) => {
    const value = values[column]
    return value instanceof Sql
      ? { sql: `${column} = ${value.sql}`, params: value.params }
      : { sql: `${column} = ?`, params: [encodeColumn(table, column, value)] }
  })
  const assigned = [...sets.map(({ sql }) => sql), 'version = version + 1']
  return {
    sql: `
      UPDATE ${table.name} SET ${assigned.join(', ')} ${where(conditions)}
      RETURNING ${returning(table)}`,
    params: [...paramsOf(sets), ...paramsOf(conditions)]
  }
}

export function deleteWhere(table: Table, conditions: Statement[]): Step {
  return { sql: `DELETE FROM ${table.name} ${where(conditions)} RETURNING *`, params: paramsOf(conditions) }
}

/** Always the same order, whatever the order in the caller's JSON: statements are kept by their text. */
function inOrder(values: Record<string, unknown>): string[] {
  return Object.keys(values).sort()
}

function where(conditions: Statement[]): string {
  return conditions.length > 0 ? `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}` : ''
}

function paramsOf(statements: Statement[]): Value[] {
  return statements.flatMap(({ params }) => params)
}

/** PostgreSQL cannot tell the type of a bare parameter in a SELECT list. */
function castFor(value: unknown): string {
  if (typeof value === 'number') return 'CAST(? AS integer)'
  return typeof value === 'boolean' ? 'CAST(? AS boolean)' : 'CAST(? AS text)'
}

/**
 * The columns of a record and no others: the words of a message are for the index only. Of the computed fields only
 * expressions over other tables: SQLite leaves those over the changed table undefined.
 */
export function returning(table: Table): string {
  const computed = Object.entries(table.computed ?? {}).filter(([, sql]) => !sql.includes(`FROM ${table.name} `))
  return [...storedColumns(table), ...computed.map(([field, sql]) => `(${sql}) AS ${field}`)].join(', ')
}
