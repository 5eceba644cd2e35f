/** What a person may do on one worktree. Each level includes the ones before it. */
export const LEVELS = ['none', 'view', 'session', 'prompt', 'all', 'owner'] as const
export type Level = (typeof LEVELS)[number]

/** What a worktree may give to everyone else: an owner is always made by a grant. */
export const OTHERS_LEVELS = ['none', 'view', 'session', 'prompt', 'all'] as const
export type OthersLevel = (typeof OTHERS_LEVELS)[number]

export const GRANT_LEVELS = ['view', 'session', 'prompt', 'all', 'owner'] as const
export type GrantLevel = (typeof GRANT_LEVELS)[number]

export const ROLES = ['viewer', 'member', 'admin'] as const
export type Role = (typeof ROLES)[number]

export function levelReaches(have: Level, need: Level): boolean {
  return LEVELS.indexOf(have) >= LEVELS.indexOf(need)
}

export function roleReaches(have: Role, need: Role): boolean {
  return ROLES.indexOf(have) >= ROLES.indexOf(need)
}

/** A grant replaces `others_can`, also when it is lower; the role `viewer` then caps whatever is left at `view`. */
export function effectiveLevel(role: Role, grant: GrantLevel | null, othersCan: OthersLevel): Level {
  const given: Level = grant ?? othersCan
  return role === 'viewer' && levelReaches(given, 'view') ? 'view' : given
}
