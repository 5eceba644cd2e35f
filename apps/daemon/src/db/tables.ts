import { ACTIVE_STATUSES } from '@stoa/core/domain/task-state'
import type { Row, Value } from './database.js'

/** How the fields of a record lie in the columns of a table. The only place that converts between the two. */
export interface Table {
  name: string
  id: string
  /** Columns that clients see, in the order they see them. */
  columns: readonly string[]
  /** Columns that only the daemon uses. */
  hidden?: readonly string[]
  json?: readonly string[]
  booleans?: readonly string[]
  /** Fields that are an expression over the row: never stored, so never stale. */
  computed?: Record<string, string>
  /** Fields that are composed of several columns. */
  composed?: Record<string, { from: readonly string[]; compose(row: Row): unknown }>
}

const stamps = ['created_at', 'created_by', 'updated_at'] as const
const list = (values: readonly string[]) => values.map((value) => `'${value}'`).join(', ')

export const tables = {
  users: {
    name: 'users',
    id: 'user_id',
    columns: ['user_id', 'email', 'name', 'role', 'active', 'version', ...stamps],
    hidden: ['password_hash', 'password_generated', 'access_version'],
    booleans: ['active', 'password_generated']
  },
  credentials: {
    name: 'credentials',
    id: 'credential_id',
    columns: [
      'credential_id',
      'kind',
      'user_id',
      'name',
      'task_id',
      'session_id',
      'scope',
      'expires_at',
      'revoked_at',
      'version',
      ...stamps
    ],
    hidden: ['secret_hash']
  },
  /** A view: the live API keys among the credentials. */
  api_keys: {
    name: 'api_keys',
    id: 'api_key_id',
    columns: ['api_key_id', 'user_id', 'name', 'scope', 'expires_at', ...stamps]
  },
  worktrees: {
    name: 'worktrees',
    id: 'worktree_id',
    columns: ['worktree_id', 'name', 'repo_path', 'path', 'ref', 'base_sha', 'others_can', 'archived_at', 'version', ...stamps],
    hidden: ['access_version']
  },
  grants: {
    name: 'grants',
    id: 'grant_id',
    columns: ['grant_id', 'worktree_id', 'user_id', 'level', 'granted_by', 'reason', 'version', ...stamps]
  },
  sessions: {
    name: 'sessions',
    id: 'session_id',
    columns: [
      'session_id',
      'worktree_id',
      'title',
      'agent',
      'model',
      'settings',
      'tools',
      'message_count',
      'last_seq',
      'boundary_seq',
      'tokens_estimated',
      'parent_session_id',
      'forked_from',
      'archived_at',
      'pinned',
      'version',
      ...stamps
    ],
    json: ['settings', 'tools', 'forked_from'],
    booleans: ['pinned'],
    computed: {
      // Not EXISTS: for a page of sessions PostgreSQL then reads the tasks of all of them (2 ms of 10,000).
      status: `COALESCE((
        SELECT 'running' FROM tasks t
        WHERE t.session_id = sessions.session_id AND t.status IN (${list(ACTIVE_STATUSES)}) LIMIT 1
      ), 'idle')`
    }
  },
  tasks: {
    name: 'tasks',
    id: 'task_id',
    columns: [
      'task_id',
      'session_id',
      'client_task_id',
      'prompt',
      'agent',
      'requested_model',
      'effective_model',
      'observed_model',
      'status',
      'config',
      'attempt',
      'executor_id',
      'git_state',
      'usage',
      'exit_code',
      'error',
      'because',
      'started_at',
      'completed_at',
      'version',
      ...stamps
    ],
    hidden: ['lease_id'],
    json: ['config', 'git_state', 'usage', 'error'],
    computed: {
      queue_position: `CASE WHEN tasks.status = 'queued' THEN (
        SELECT COUNT(*) FROM tasks q
        WHERE q.session_id = tasks.session_id AND q.status = 'queued' AND q.task_id <= tasks.task_id
      ) END`
    }
  },
  leases: {
    name: 'leases',
    id: 'lease_id',
    columns: [
      'lease_id',
      'task_id',
      'executor_id',
      'user_id',
      'credential_id',
      'attempt',
      'progress',
      'created_at',
      'renewed_at',
      'expires_at',
      'ended_at'
    ],
    json: ['progress']
  },
  messages: {
    name: 'messages',
    id: 'message_id',
    columns: [
      'message_id',
      'session_id',
      'task_id',
      'seq',
      'role',
      'content',
      'metadata',
      'client_message_id',
      'revision',
      'edited_at',
      'edited_by',
      'deleted_at',
      'preview',
      'tokens_estimated',
      'boundary_seq',
      'version',
      ...stamps
    ],
    hidden: ['removal_id'],
    json: ['content', 'metadata']
  },
  /** A view: every revision of every message, the current one included. */
  message_revisions: {
    name: 'message_revisions',
    id: 'revision',
    columns: ['message_id', 'revision', 'content', 'created_at', 'created_by'],
    json: ['content']
  },
  journal: {
    name: 'journal',
    id: 'id',
    columns: [
      'seq',
      'id',
      'ts',
      'kind',
      'decision',
      'reason_code',
      'reason',
      'actor_id',
      'actor',
      'credential',
      'action',
      'service',
      'method',
      'transport',
      'worktree_id',
      'session_id',
      'spoofed',
      'basis',
      'trace',
      'effect',
      'version',
      'request'
    ],
    json: ['actor', 'credential', 'basis', 'trace', 'effect', 'request'],
    booleans: ['spoofed'],
    composed: {
      resource: {
        from: ['resource_type', 'resource_id', 'claimed', 'actual'],
        compose: (row) => ({ type: row['resource_type'], id: row['resource_id'], claimed: row['claimed'], actual: row['actual'] })
      }
    }
  }
} as const satisfies Record<string, Table>

/** A row as the record that clients know; hidden columns are left out unless `all` is asked for. */
export function decodeRow(table: Table, row: Row, all = false): Row {
  const record: Row = {}
  for (const column of all ? storedColumns(table) : table.columns) {
    if (column in row) record[column] = decodeColumn(table, column, row[column])
  }
  for (const field of Object.keys(table.computed ?? {})) if (field in row) record[field] = row[field]
  for (const [field, { from, compose }] of Object.entries(table.composed ?? {})) {
    if (from.every((column) => column in row)) record[field] = compose(row)
  }
  return record
}

/** The fields of a decoded record that clients see. */
export function publicRecord(table: Table, record: Row): Row {
  const fields = [...table.columns, ...Object.keys(table.computed ?? {}), ...Object.keys(table.composed ?? {})]
  return Object.fromEntries(fields.filter((field) => field in record).map((field) => [field, record[field]]))
}

export function encodeColumn(table: Table, column: string, value: unknown): Value {
  if (value === undefined) return null
  if (table.json?.includes(column)) return value === null ? null : JSON.stringify(value)
  return value as Value
}

export function storedColumns(table: Table): string[] {
  return [...table.columns, ...(table.hidden ?? []), ...Object.values(table.composed ?? {}).flatMap(({ from }) => from)]
}

function decodeColumn(table: Table, column: string, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (table.json?.includes(column)) return JSON.parse(String(value))
  if (table.booleans?.includes(column)) return Boolean(value)
  return value
}
