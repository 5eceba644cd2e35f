import type { Statement } from '@stoa/daemon/db/database'
import type { Knex } from 'knex'
import { rows, type StoreKind } from '../support/stores.js'

/** Without a limit. Users and worktrees are few by comparison, and the directory of users is read whole by design. */
const GROWING = ['sessions', 'tasks', 'messages', 'past_revisions', 'journal', 'grants', 'credentials', 'removals']

/** Where reading all of it is the question that was asked. */
const EXCEPTIONS: { why: string; sql: RegExp }[] = [
  { why: 'an admin counts everything there is', sql: /^select count\(\*\) as .total. from .(journal|grants). where \(1 = 1\)$/ },
  {
    why: 'every request writes to the journal, so it has few indexes: its session is looked for among all rows, or among those of the owner’s worktrees',
    sql: /^select count\(\*\) as .total. from .journal. where .session_id. = /
  }
]

/** What each statement that reads all of a growing table reads, and the statement. */
export async function readsAll(connection: Knex, database: StoreKind['name'], statements: Statement[]): Promise<string[]> {
  const scansOf = database === 'SQLite' ? sqliteScans : postgresScans
  if (database === 'PostgreSQL') await connection.raw('SET enable_seqscan = off')
  const found: string[] = []
  for (const statement of statements) {
    if (!/^\s*(select|with|insert|update|delete)\b/i.test(statement.sql)) continue
    const scans = await scansOf(connection, statement)
    if (scans.length > 0 && !EXCEPTIONS.some(({ sql }) => sql.test(statement.sql)))
      found.push(`${scans.join(', ')}: ${statement.sql.replace(/\s+/g, ' ').trim()}`)
  }
  return found
}

/** A walk in the order that was asked for, which stops at the limit, is no reading of all; one that has to be sorted afterwards is. */
async function sqliteScans(connection: Knex, { sql, params }: Statement): Promise<string[]> {
  const plan = (await rows(connection, `EXPLAIN QUERY PLAN ${sql}`, params as string[])).map(({ detail }) => String(detail))
  const stops = /\border by .+ limit \S+( offset \S+)?\s*$/i.test(sql) && !plan.includes('USE TEMP B-TREE FOR ORDER BY')
  const names = tablesIn(sql)
  return plan.filter((detail) => {
    const [, name] = /^SCAN (\w+)/.exec(detail) ?? []
    return name !== undefined && GROWING.includes(names.get(name) ?? name) && !stops
  })
}

/** SQLite names a table as the statement does. */
function tablesIn(sql: string): Map<string, string> {
  const named = sql.matchAll(/\b(?:from|join|,)\s+[`"]?(\w+)[`"]?(?:\s+(?:as\s+)?[`"]?(\w+)[`"]?)?/gi)
  return new Map([...named].flatMap(([, table, alias]) => (alias ? [[alias, table!] as const] : [])))
}

/** Told to avoid them, PostgreSQL reads a whole table only where it has no other way, however small the table is. */
async function postgresScans(connection: Knex, { sql, params }: Statement): Promise<string[]> {
  const client = (await connection.client.acquireConnection()) as PgClient
  try {
    const { rows: answer } = await client.query(`EXPLAIN (FORMAT JSON) ${sql}`, params)
    return nodesIn(answer[0]!['QUERY PLAN'])
      .filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.includes(String(node['Relation Name'])))
      .map((node) => `Seq Scan on ${String(node['Relation Name'])}`)
  } finally {
    await connection.client.releaseConnection(client)
  }
}

interface PgClient {
  query(text: string, params: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

function nodesIn(plan: unknown): Record<string, unknown>[] {
  if (typeof plan !== 'object' || plan === null) return []
  const inner = Object.values(plan).flatMap(nodesIn)
  return 'Node Type' in plan ? [plan as Record<string, unknown>, ...inner] : inner
}
