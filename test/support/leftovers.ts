import type { Knex } from 'knex'
import { rows } from './stores.js'

/** The ids of what was removed. */
export interface Gone {
  session_id: string
  task_id: string[]
  message_id: string[]
}

/** What is still stored of a removed session, as `table: rows`: in every table that names it, but the journal, which keeps all. */
export async function leftovers(connection: Knex, gone: Gone): Promise<string[]> {
  const left: string[] = []
  for (const { name, column } of await columns(connection)) {
    if (name === 'journal' || !(column in gone)) continue
    const ids = [gone[column as keyof Gone]].flat()
    const [found] = await rows(
      connection,
      `SELECT COUNT(*) AS count FROM "${name}" WHERE ${column} IN (${ids.map(() => '?').join(', ')})`,
      ids
    )
    if (Number(found!['count']) > 0) left.push(`${name}.${column}: ${String(found!['count'])}`)
  }
  return left
}

/** Rows that point to a session, task or message that is not there. */
export async function orphans(connection: Knex): Promise<string[]> {
  const left: string[] = []
  const parents = { session_id: 'sessions', task_id: 'tasks', message_id: 'messages' }
  for (const { name, column } of await columns(connection)) {
    const parent = parents[column as keyof typeof parents]
    if (!parent || name === parent || name === 'journal') continue
    const [found] = await rows(
      connection,
      `SELECT COUNT(*) AS count FROM "${name}" child
       WHERE child.${column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${parent} WHERE ${parent}.${column} = child.${column})`
    )
    if (Number(found!['count']) > 0) left.push(`${name}.${column}: ${String(found!['count'])}`)
  }
  return left
}

/** Every column of every table; a look at the tables, so that one that is added later is looked into as well. */
async function columns(connection: Knex): Promise<{ name: string; column: string }[]> {
  const postgres = connection.client.config.client === 'pg'
  const found = await rows(
    connection,
    postgres
      ? `SELECT c.table_name AS name, c.column_name AS "column" FROM information_schema.columns c
         JOIN information_schema.tables t USING (table_schema, table_name)
         WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'`
      : `SELECT m.name AS name, c.name AS "column" FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`
  )
  return found.map(({ name, column }) => ({ name: String(name), column: String(column) }))
}
