import type { Level, Role } from './levels.js'

/**
 * The policy, as data. An action is `service.method`; what is not listed here is refused, and the daemon does not boot
 * while something reachable is missing (apps/daemon/src/hooks/check-coverage.ts).
 */
export type Rule =
  /** A level on the worktree the record belongs to; `own` is enough in a session that the caller created. */
  | { by: 'level'; level: Level; own?: Level }
  | { by: 'role'; role: Role }
  /** The record belongs to the caller: their user, their key, their grant. */
  | { by: 'self' }
  /** An admin gives themself a level, with a reason that stands in the grant; the journal has the change. */
  | { by: 'break_glass' }
  | { by: 'signed_in' }
  | { by: 'anyone' }

/** How far a task token reaches: its task, its session, the worktree of its session. */
export type TokenReach = 'task' | 'session' | 'worktree'

export interface Policy {
  resource: ResourceType
  /** One of these is enough. */
  anyOf: Rule[]
  /** Fields that ask for more than the action itself. */
  fields?: Record<string, Rule[]>
  /** Absent: a task token may not do this at all. */
  token?: TokenReach
  /** Only for an executor's key, which may do nothing else. */
  executor?: true
}

export type ResourceType =
  | 'user'
  | 'worktree'
  | 'grant'
  | 'session'
  | 'task'
  | 'lease'
  | 'message'
  | 'removed_message'
  | 'api_key'
  | 'token'
  | 'journal_entry'
  | 'daemon'

const view: Rule = { by: 'level', level: 'view' }
const prompt: Rule = { by: 'level', level: 'prompt', own: 'session' }
const all: Rule = { by: 'level', level: 'all' }
const change: Rule = { by: 'level', level: 'all', own: 'session' }
const session: Rule = { by: 'level', level: 'session' }
const owner: Rule = { by: 'level', level: 'owner' }
const admin: Rule = { by: 'role', role: 'admin' }
const member: Rule = { by: 'role', role: 'member' }
const self: Rule = { by: 'self' }
const breakGlass: Rule = { by: 'break_glass' }
const signedIn: Rule = { by: 'signed_in' }
const anyone: Rule = { by: 'anyone' }

/** Who learns that a record exists. Everyone else is told the same as about an id that was never given out. */
export const visibility: Record<ResourceType, Rule[]> = {
  user: [signedIn],
  worktree: [view],
  grant: [view, admin],
  session: [view],
  task: [view],
  lease: [self],
  message: [view],
  removed_message: [owner],
  api_key: [self],
  token: [self],
  journal_entry: [owner, admin],
  daemon: [anyone]
}

export const policies = {
  'authentication.create': { resource: 'token', anyOf: [anyone] },
  'authentication.remove': { resource: 'token', anyOf: [self] },

  'users.find': { resource: 'user', anyOf: [signedIn] },
  'users.get': { resource: 'user', anyOf: [signedIn] },
  'users.create': { resource: 'user', anyOf: [admin] },
  'users.patch': { resource: 'user', anyOf: [self, admin], fields: { email: [admin], role: [admin], active: [admin] } },

  'api-keys.find': { resource: 'api_key', anyOf: [self] },
  'api-keys.get': { resource: 'api_key', anyOf: [self] },
  'api-keys.create': { resource: 'api_key', anyOf: [self] },
  'api-keys.remove': { resource: 'api_key', anyOf: [self] },

  'worktrees.find': { resource: 'worktree', anyOf: [view] },
  'worktrees.get': { resource: 'worktree', anyOf: [view], token: 'worktree' },
  'worktrees.create': { resource: 'worktree', anyOf: [member] },
  'worktrees.patch': { resource: 'worktree', anyOf: [all], fields: { others_can: [owner] } },
  'worktrees.remove': { resource: 'worktree', anyOf: [owner] },

  'grants.find': { resource: 'grant', anyOf: [view, admin] },
  'grants.get': { resource: 'grant', anyOf: [view, admin] },
  'grants.create': { resource: 'grant', anyOf: [owner, breakGlass] },
  'grants.patch': { resource: 'grant', anyOf: [owner, breakGlass] },
  'grants.remove': { resource: 'grant', anyOf: [owner, self] },

  'sessions.find': { resource: 'session', anyOf: [view], token: 'session' },
  'sessions.get': { resource: 'session', anyOf: [view], token: 'session' },
  'sessions.create': { resource: 'session', anyOf: [session] },
  'sessions.patch': { resource: 'session', anyOf: [change] },
  'sessions.remove': { resource: 'session', anyOf: [all] },
  'session-forks.create': { resource: 'session', anyOf: [session] },
  'session-truncations.create': { resource: 'session', anyOf: [change] },
  'session-clears.create': { resource: 'session', anyOf: [change] },
  'session-undos.create': { resource: 'session', anyOf: [change] },
  'session-compactions.create': { resource: 'session', anyOf: [prompt], token: 'session' },
  'session-context.find': { resource: 'session', anyOf: [view], token: 'session' },
  'session-exports.find': { resource: 'session', anyOf: [view], token: 'session' },

  'tasks.find': { resource: 'task', anyOf: [view], token: 'session' },
  'tasks.get': { resource: 'task', anyOf: [view], token: 'session' },
  'tasks.create': { resource: 'task', anyOf: [prompt] },
  'tasks.patch': { resource: 'task', anyOf: [prompt], token: 'task' },
  'tasks.remove': { resource: 'task', anyOf: [all] },
  'task-stops.create': { resource: 'task', anyOf: [prompt] },
  'task-events.find': { resource: 'task', anyOf: [view], token: 'session' },
  'task-tokens.create': { resource: 'task', anyOf: [prompt] },

  'leases.create': { resource: 'daemon', anyOf: [signedIn], executor: true },
  'leases.patch': { resource: 'lease', anyOf: [self], executor: true },

  'messages.find': { resource: 'message', anyOf: [view], token: 'session' },
  'messages.get': { resource: 'message', anyOf: [view], token: 'session' },
  'messages.create': { resource: 'message', anyOf: [prompt], token: 'session' },
  'messages.patch': { resource: 'message', anyOf: [prompt], token: 'session' },
  'messages.remove': { resource: 'message', anyOf: [prompt] },
  'message-restores.create': { resource: 'message', anyOf: [owner] },
  'removed-messages.find': { resource: 'removed_message', anyOf: [owner] },
  'removed-messages.get': { resource: 'removed_message', anyOf: [owner] },
  'message-revisions.find': { resource: 'message', anyOf: [view], token: 'session' },

  'journal.find': { resource: 'journal_entry', anyOf: [owner, admin] },
  'journal.get': { resource: 'journal_entry', anyOf: [owner, admin] },

  'sweeps.create': { resource: 'daemon', anyOf: [admin] },

  'livez.get': { resource: 'daemon', anyOf: [anyone] },
  'readyz.get': { resource: 'daemon', anyOf: [anyone] },
  'health.get': { resource: 'daemon', anyOf: [anyone] },
  'metrics.get': { resource: 'daemon', anyOf: [anyone] },
  'openapi.get': { resource: 'daemon', anyOf: [anyone] }
} as const satisfies Record<string, Policy>

export type Action = keyof typeof policies

export function policyOf(action: string): Policy | undefined {
  return Object.hasOwn(policies, action) ? policies[action as Action] : undefined
}
