import type { ResourceType } from '@stoa/core/policy/actions'
import type { Database, Row } from '../database.js'
import { decodeRow, storedColumns, tables, type Table } from '../tables.js'

/** The credential that was shown, its user, and the record with its session, worktree and the caller's grant, as stored now. */
export interface LoadedAccess {
  credential: Row | null
  user: Row | null
  /** The status of the task that a task token belongs to, and where that task lives. */
  token: { status: string; session_id: string; worktree_id: string } | null
  record: Row | null
  session: Row | null
  worktree: Row | null
  grant: Row | null
}

interface Source {
  alias: 'r' | 's' | 'w'
  table: Table
  on: string
}

const session: Source = { alias: 's', table: tables.sessions, on: 's.session_id = r.session_id' }
const worktreeOfSession: Source = { alias: 'w', table: tables.worktrees, on: 'w.worktree_id = s.worktree_id' }
const worktreeOfRecord: Source = { alias: 'w', table: tables.worktrees, on: 'w.worktree_id = r.worktree_id' }

/** What is joined for each type of record; the first source takes the id. */
const sources: Record<ResourceType, Source[]> = {
  task: [{ alias: 'r', table: tables.tasks, on: 'r.task_id = ?' }, session, worktreeOfSession],
  message: [{ alias: 'r', table: tables.messages, on: 'r.message_id = ? AND r.deleted_at IS NULL' }, session, worktreeOfSession],
  removed_message: [
    { alias: 'r', table: tables.messages, on: 'r.message_id = ? AND r.deleted_at IS NOT NULL' },
    session,
    worktreeOfSession
  ],
  session: [{ alias: 's', table: tables.sessions, on: 's.session_id = ?' }, worktreeOfSession],
  worktree: [{ alias: 'w', table: tables.worktrees, on: 'w.worktree_id = ?' }],
  lease: [{ alias: 'r', table: tables.leases, on: 'r.lease_id = ?' }],
  grant: [{ alias: 'r', table: tables.grants, on: 'r.grant_id = ?' }, worktreeOfRecord],
  user: [{ alias: 'r', table: tables.users, on: 'r.user_id = ?' }],
  api_key: [{ alias: 'r', table: tables.api_keys, on: 'r.api_key_id = ?' }],
  journal_entry: [{ alias: 'r', table: tables.journal, on: 'r.id = ?' }, worktreeOfRecord],
  token: [],
  daemon: []
}

/** One statement, whatever the type: the decision never rests on rows that were read at different moments. */
export async function loadAccess(
  db: Database,
  type: ResourceType,
  credentialId: string,
  id: string | null
): Promise<LoadedAccess> {
  const plan = planFor(type)
  const [row] = await db.read(plan.sql, plan.takesId ? [id, credentialId] : [credentialId])
  if (!row) return { credential: null, user: null, token: null, record: null, session: null, worktree: null, grant: null }
  const part = (alias: string) => plan.parts.find((candidate) => candidate.alias === alias)?.decode(row) ?? null
  const [sessionRow, worktreeRow] = [part('s'), part('w')]
  return {
    credential: part('c'),
    user: part('u'),
    token: row['token_status']
      ? ({
          status: row['token_status'],
          session_id: row['token_session_id'],
          worktree_id: row['token_worktree_id']
        } as LoadedAccess['token'])
      : null,
    record: part('r') ?? (type === 'session' ? sessionRow : type === 'worktree' ? worktreeRow : null),
    session: sessionRow,
    worktree: worktreeRow,
    grant: part('g')
  }
}

interface Plan {
  sql: string
  takesId: boolean
  parts: { alias: string; decode(row: Row): Row | null }[]
}

const plans = new Map<ResourceType, Plan>()

function planFor(type: ResourceType): Plan {
  let plan = plans.get(type)
  if (!plan) plans.set(type, (plan = makePlan(sources[type])))
  return plan
}

/** What a decision needs of the rows around the record. Reading all 92 columns cost 65 µs of the main thread, these 36. */
const around: Record<string, readonly string[]> = {
  c: ['credential_id', 'kind', 'secret_hash', 'task_id', 'scope', 'expires_at', 'revoked_at'],
  u: ['user_id', 'role', 'active', 'access_version'],
  s: ['session_id', 'worktree_id', 'created_by'],
  w: ['worktree_id', 'others_can', 'access_version'],
  g: ['grant_id', 'level']
}

function makePlan(joined: Source[]): Plan {
  const whole = joined[0]?.alias ?? 'u'
  const parts = [
    { alias: 'c', table: tables.credentials as Table },
    { alias: 'u', table: tables.users as Table },
    ...joined,
    ...(joined.some(({ alias }) => alias === 'w') ? [{ alias: 'g', table: tables.grants as Table }] : [])
  ].map(({ alias, table }) => ({
    alias,
    table,
    columns: alias === whole ? storedColumns(table) : around[alias]!,
    computed: alias === whole ? (table.computed ?? {}) : {}
  }))
  const selected = parts.flatMap(({ alias, table, columns, computed }) => [
    ...columns.map((column) => `${alias}.${column} AS ${alias}_${column}`),
    ...Object.entries(computed).map(([field, sql]) => `${sql.replaceAll(`${table.name}.`, `${alias}.`)} AS ${alias}_${field}`)
  ])
  const joins = joined.map(({ alias, table, on }) => `LEFT JOIN ${table.name} ${alias} ON ${on}`)
  const grant = parts.some(({ alias }) => alias === 'g')
    ? 'LEFT JOIN grants g ON g.worktree_id = w.worktree_id AND g.user_id = u.user_id'
    : ''
  return {
    takesId: joined.length > 0,
    sql: `
      SELECT ${selected.join(', ')}, ct.status AS token_status, ct.session_id AS token_session_id, cs.worktree_id AS token_worktree_id
      FROM credentials c
      JOIN users u ON u.user_id = c.user_id
      LEFT JOIN tasks ct ON ct.task_id = c.task_id
      LEFT JOIN sessions cs ON cs.session_id = ct.session_id
      ${joins.join('\n      ')} ${grant}
      WHERE c.credential_id = ?`,
    parts: parts.map(({ alias, table, columns, computed }) => ({
      alias,
      decode: decoderOf(alias, table, [...columns, ...Object.keys(computed)])
    }))
  }
}

function decoderOf(alias: string, table: Table, fields: readonly string[]): (row: Row) => Row | null {
  const key = `${alias}_${table.id}`
  return (row) => {
    if (row[key] === null || row[key] === undefined) return null
    const plain: Row = {}
    for (const field of fields) plain[field] = row[`${alias}_${field}`]
    return decodeRow(table, plain, true)
  }
}
