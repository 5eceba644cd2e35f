import type { Role } from '../policy/levels.js'
import type { ResourceType } from '../policy/actions.js'
import type { TraceStep } from '../policy/decide.js'

export type CredentialKind = 'access_token' | 'api_key' | 'task_token' | 'one_time'
export type Transport = 'rest' | 'socketio' | 'internal'

/**
 * One row of the journal: who asked for what, whether it was allowed, by which rule and on which facts, and what it
 * changed. Ids and field names only: no content, no token, nothing that a caller typed.
 */
export interface JournalEntry {
  id: string
  ts: string
  kind: 'decision' | 'access_change' | 'sign_in' | 'system'
  decision: 'allow' | 'deny'
  reason_code: string
  reason: string
  actor_id: string | null
  actor: { user_id: string; role: Role } | { system: string } | null
  credential: { kind: CredentialKind; id: string } | null
  action: string
  service: string
  method: string
  transport: Transport
  resource_type: ResourceType
  resource_id: string | null
  worktree_id: string | null
  session_id: string | null
  /** The parent that the caller named, when they named one, and the one in the stored row. */
  claimed: string | null
  actual: string | null
  spoofed: boolean
  /** What was decided on: enough to decide again. */
  basis: Basis | null
  trace: TraceStep[]
  effect: Effect | null
  /** The version of the record after the change; filled from the row that was written. */
  version: number | null
  request: { request_id: string; ip: string | null }
}

export interface Basis {
  role: Role | null
  level: string | null
  grant: string | null
  others_can: string | null
  own_session: boolean
  fields: readonly string[]
  access_versions: { user: number; worktree: number | null } | null
}

export interface Effect {
  change: 'created' | 'patched' | 'removed' | 'read' | 'listed'
  fields?: readonly string[]
  count?: number
  /** What a record was made from: the session that was forked. */
  from?: string
  /** Only for what decides access (levels, roles, the active flag) and for the status of a task. Never content. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}
