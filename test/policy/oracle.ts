/**
 * What context/concepts/rbac.md says, written out cell by cell and without any code of the policy itself, so that a
 * mistake there does not repeat here.
 */
export interface Question {
  action: string
  role: 'viewer' | 'member' | 'admin'
  /** The caller's grant on the worktree; without one `others_can` counts. */
  grant: (typeof COLUMNS)[number] | null
  others_can: (typeof COLUMNS)[number]
  /** The session of the record, or where there is none the user, key, grant or token itself, is the caller's own. */
  own: boolean
  credential: 'access_token' | 'api_key' | 'executor_key' | 'task_token' | 'none'
  /** The nearest thing that the record shares with the task of the token. */
  reach: 'task' | 'session' | 'worktree' | 'elsewhere'
  /** Names of the fields that are written. */
  fields: readonly string[]
  reason: boolean
}

export interface Expectation {
  status: number
  code: string
}

export function expected(question: Question): Expectation {
  const open = OPEN_TO_ANYONE.includes(question.action)
  if (question.credential === 'none' && !open) return answers['x']!
  const person = personsAnswer(question)
  const done = question.action.endsWith('.create') ? { status: 201, code: 'allowed' } : { status: 200, code: 'allowed' }
  if (open) return done
  if (person === '-') return answers['-']!
  if (isForExecutors(question.action) !== (question.credential === 'executor_key')) return answers['t']!
  if (question.credential === 'task_token' && !tokenReaches(question)) return answers['t']!
  return person === '+' ? done : answers[person]!
}

/** A list is never refused for what is in it: it holds what the caller may get, and may be empty. */
export function expectedList(question: Question): Expectation & { sees: boolean } {
  if (question.credential === 'none') return { ...answers['x']!, sees: false }
  // An executor's key has no lists at all.
  if (question.credential === 'executor_key') return { ...answers['t']!, sees: false }
  if (question.credential === 'task_token' && !TOKENS[question.action]) return { ...answers['t']!, sees: false }
  return { status: 200, code: 'allowed', sees: expected(question).status === 200 }
}

export const COLUMNS = ['none', 'view', 'session', 'prompt', 'all', 'owner'] as const

/** + allowed   - not visible   l level_too_low   o not_owner   r role_too_low   t token_scope   x not signed in */
const answers: Record<string, Expectation> = {
  '-': { status: 404, code: 'not_found' },
  l: { status: 403, code: 'level_too_low' },
  o: { status: 403, code: 'not_owner' },
  r: { status: 403, code: 'role_too_low' },
  t: { status: 403, code: 'token_scope' },
  x: { status: 401, code: 'not_authenticated' }
}

/** One answer per level, in the order of COLUMNS: none, view, session, prompt, all, owner. */
type Table = Record<Question['role'], string>

const anyRole = (line: string): Table => ({ viewer: line, member: line, admin: line })

// A viewer whose level would be enough for a member is told that it is the role.
const always = anyRole('++++++')
const never = anyRole('------')
const view = anyRole('-+++++')
const session: Table = { viewer: '-lrrrr', member: '-l++++', admin: '-l++++' }
const prompt: Table = { viewer: '-llrrr', member: '-ll+++', admin: '-ll+++' }
const all: Table = { viewer: '-lllrr', member: '-lll++', admin: '-lll++' }
const owner: Table = { viewer: '-oooor', member: '-oooo+', admin: '-oooo+' }
// The requirement of the action is named before the one of the field.
const allThenOwner: Table = { viewer: '-lllrr', member: '-lllo+', admin: '-lllo+' }
const roleMember: Table = { viewer: 'rrrrrr', member: '++++++', admin: '++++++' }
const roleAdmin: Table = { viewer: 'rrrrrr', member: 'rrrrrr', admin: '++++++' }
const viewOrAdmin: Table = { viewer: '-+++++', member: '-+++++', admin: '++++++' }
const ownerSeenByAdmin: Table = { viewer: '-oooor', member: '-oooo+', admin: 'ooooo+' }
const ownerOrBreakGlass: Table = { viewer: '-oooor', member: '-oooo+', admin: '++++++' }
const journal: Table = { viewer: '------', member: '-----+', admin: '++++++' }
// To everyone but owners a tombstone is what it says: nothing. A viewer is never an owner.
const ownersAlone: Table = { viewer: '------', member: '-----+', admin: '-----+' }

interface Entry {
  foreign: Table
  own: Table
}

const both = (table: Table): Entry => ({ foreign: table, own: table })
const sessionInOwn = (foreign: Table): Entry => ({ foreign, own: session })
const ownOnly: Entry = { foreign: never, own: always }

const TABLES: Record<string, Entry> = {
  'authentication.create': both(always),
  'authentication.remove': ownOnly,
  'users.find': both(always),
  'users.get': both(always),
  'users.create': both(roleAdmin),
  'users.patch': { foreign: roleAdmin, own: always },
  'users.patch email|role|active': both(roleAdmin),
  'api-keys.find': ownOnly,
  'api-keys.get': ownOnly,
  'api-keys.create': ownOnly,
  'api-keys.remove': ownOnly,
  'worktrees.find': both(view),
  'worktrees.get': both(view),
  'worktrees.create': both(roleMember),
  'worktrees.patch': both(all),
  'worktrees.patch others_can': both(allThenOwner),
  'worktrees.remove': both(owner),
  'grants.find': both(viewOrAdmin),
  'grants.get': both(viewOrAdmin),
  'grants.create': both(ownerSeenByAdmin),
  'grants.create with a reason': { foreign: ownerSeenByAdmin, own: ownerOrBreakGlass },
  'grants.patch': both(ownerSeenByAdmin),
  'grants.patch with a reason': { foreign: ownerSeenByAdmin, own: ownerOrBreakGlass },
  'grants.remove': { foreign: ownerSeenByAdmin, own: viewOrAdmin },
  'sessions.find': both(view),
  'sessions.get': both(view),
  'sessions.create': both(session),
  'sessions.patch': sessionInOwn(all),
  'sessions.remove': both(all),
  'session-forks.create': both(session),
  'session-truncations.create': sessionInOwn(all),
  'session-clears.create': sessionInOwn(all),
  'session-undos.create': sessionInOwn(all),
  'session-compactions.create': sessionInOwn(prompt),
  'session-context.find': both(view),
  'session-exports.find': both(view),
  'tasks.find': both(view),
  'tasks.get': both(view),
  'tasks.create': sessionInOwn(prompt),
  'tasks.patch': sessionInOwn(prompt),
  'tasks.remove': both(all),
  'task-stops.create': sessionInOwn(prompt),
  'task-events.find': both(view),
  'task-tokens.create': sessionInOwn(prompt),
  'messages.find': both(view),
  'messages.get': both(view),
  'messages.create': sessionInOwn(prompt),
  'messages.patch': sessionInOwn(prompt),
  'messages.remove': sessionInOwn(prompt),
  'message-revisions.find': both(view),
  'message-restores.create': both(ownersAlone),
  'removed-messages.find': both(ownersAlone),
  'removed-messages.get': both(ownersAlone),
  'journal.find': both(journal),
  'journal.get': both(journal),
  'sweeps.create': both(roleAdmin),
  'leases.create': both(always),
  'leases.patch': ownOnly,
  'livez.get': both(always),
  'readyz.get': both(always),
  'health.get': both(always),
  'metrics.get': both(always),
  'openapi.get': both(always)
}

export const ACTIONS = Object.keys(TABLES).filter((name) => !name.includes(' '))

/** What needs no credential cannot be refused because of one. */
const OPEN_TO_ANYONE = ['authentication.create', 'livez.get', 'readyz.get', 'health.get', 'metrics.get', 'openapi.get']

const inItsSession: readonly Question['reach'][] = ['task', 'session']

const TOKENS: Record<string, readonly Question['reach'][]> = {
  'tasks.patch': ['task'],
  'tasks.find': inItsSession,
  'tasks.get': inItsSession,
  'task-events.find': inItsSession,
  'sessions.find': inItsSession,
  'sessions.get': inItsSession,
  'session-compactions.create': inItsSession,
  'session-context.find': inItsSession,
  'session-exports.find': inItsSession,
  'messages.find': inItsSession,
  'messages.get': inItsSession,
  'messages.create': inItsSession,
  'messages.patch': inItsSession,
  'message-revisions.find': inItsSession,
  'worktrees.get': ['task', 'session', 'worktree']
}

function personsAnswer({ action, role, grant, others_can, own, fields, reason }: Question): string {
  const entry = TABLES[variantOf(action, fields, reason)]
  const table = own ? entry?.own : entry?.foreign
  return table?.[role][COLUMNS.indexOf(grant ?? others_can)] ?? '-'
}

function variantOf(action: string, fields: readonly string[], reason: boolean): string {
  if (action === 'users.patch' && fields.some((field) => ['email', 'role', 'active'].includes(field)))
    return 'users.patch email|role|active'
  if (action === 'worktrees.patch' && fields.includes('others_can')) return 'worktrees.patch others_can'
  if ((action === 'grants.create' || action === 'grants.patch') && reason) return `${action} with a reason`
  return action
}

/** Leases are for the keys of executors, and these are for nothing else. */
function isForExecutors(action: string): boolean {
  return action.startsWith('leases.')
}

function tokenReaches({ action, reach }: Question): boolean {
  return TOKENS[action]?.includes(reach) ?? false
}
