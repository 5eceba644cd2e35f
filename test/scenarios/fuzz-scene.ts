import { expect } from 'chai'
import { rowsOf, type Answer, type Body } from '../support/client.js'
import { openRawSocket, type RawSocket } from '../support/raw-socket.js'
import { rawRequest } from '../support/raw-request.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

export type Service = (typeof SERVICES)[number]
export const SERVICES = [
  'users',
  'worktrees',
  'grants',
  'sessions',
  'tasks',
  'messages',
  'removed-messages',
  'api-keys',
  'journal'
] as const

/** Printed, so that what failed once can be run again. */
export const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
export const RUNS = 150

/** What each service offers beside `find` and `get`. */
export const OFFERED: Record<Service, readonly string[]> = {
  users: ['patch'],
  worktrees: ['patch', 'remove'],
  grants: ['patch', 'remove'],
  sessions: ['patch', 'remove'],
  tasks: ['patch', 'remove'],
  messages: ['patch', 'remove'],
  'removed-messages': [],
  'api-keys': ['remove'],
  journal: []
}

export const KEYS: Record<Service, string> = {
  users: 'user_id',
  worktrees: 'worktree_id',
  grants: 'grant_id',
  sessions: 'session_id',
  tasks: 'task_id',
  messages: 'message_id',
  'removed-messages': 'message_id',
  'api-keys': 'api_key_id',
  journal: 'id'
}

/** What can be written and asked for, so that most of what is made up gets past the first look. */
export const FIELDS: Record<Service, readonly string[]> = {
  users: ['name', 'email'],
  worktrees: ['name', 'repo_path', 'ref', 'others_can', 'archived_at'],
  grants: ['worktree_id', 'user_id', 'reason'],
  sessions: ['title', 'agent', 'model', 'settings', 'tools', 'pinned', 'archived_at', 'parent_session_id', 'worktree_id'],
  tasks: [
    'session_id',
    'prompt',
    'agent',
    'requested_model',
    'client_task_id',
    'status',
    'effective_model',
    'git_state',
    'usage',
    'exit_code',
    'error',
    'because',
    'started_at'
  ],
  messages: [
    'session_id',
    'task_id',
    'role',
    'content',
    'metadata',
    'client_message_id',
    'seq',
    'after_seq',
    'before_seq',
    'search',
    'include'
  ],
  'removed-messages': ['session_id', 'task_id', 'role', 'client_message_id', 'seq', 'created_at', 'deleted_at'],
  'api-keys': ['name', 'expires_at'],
  journal: [
    'seq',
    'after_seq',
    'ts',
    'kind',
    'decision',
    'actor_id',
    'worktree_id',
    'session_id',
    'resource_type',
    'resource_id',
    'spoofed'
  ]
}

/** What hangs on one record: how it is called, what it takes, and a body that it takes. */
export interface FuzzDoor {
  on: 'sessions' | 'messages'
  name: string
  method: 'create' | 'find'
  fields: readonly string[]
  valid: Body
}

export const DOORS: readonly FuzzDoor[] = [
  { on: 'sessions', name: 'fork', method: 'create', fields: ['at_seq', 'title', 'worktree_id'], valid: { at_seq: 1 } },
  { on: 'sessions', name: 'truncate', method: 'create', fields: ['keep_count'], valid: { keep_count: 1 } },
  { on: 'sessions', name: 'clear', method: 'create', fields: ['keep_count'], valid: {} },
  { on: 'sessions', name: 'undo', method: 'create', fields: ['undo_token'], valid: {} },
  {
    on: 'sessions',
    name: 'compact',
    method: 'create',
    fields: ['summary', 'keep_last', 'last_seq'],
    valid: { summary: 'x', keep_last: 0 }
  },
  { on: 'messages', name: 'restore', method: 'create', fields: ['deleted_at'], valid: {} },
  { on: 'sessions', name: 'context', method: 'find', fields: ['include', '$limit'], valid: {} },
  { on: 'sessions', name: 'export', method: 'find', fields: ['format'], valid: {} }
]

export interface FuzzScene {
  world: World
  alice: Person
  ids: Record<Service, string>
  /** A session of its own, with a message, that anything may be done to. */
  spare: Record<FuzzDoor['on'], string>
  socket: RawSocket
  rest(method: string, path: string, body?: unknown): Promise<Answer>
  /** All that alice has. */
  everything(): Promise<Body[]>
}

/** Alice owns one of each. */
export async function fuzzScene(url: string): Promise<FuzzScene> {
  const world = await buildWorld(url)
  const alice = await world.user('alice')
  const worktree_id = await world.worktree(alice)
  const session_id = await world.session(alice, worktree_id)
  const headers = { authorization: `Bearer ${alice.token}` }
  const removed = await world.message(alice, session_id)
  await made(alice.rest.del(`/messages/${removed}`))
  const spare = await world.session(alice, worktree_id)
  const ids = {
    users: alice.user_id,
    worktrees: worktree_id,
    grants: text(rowsOf(await alice.rest.get('/grants'))[0]!, 'grant_id'),
    sessions: session_id,
    tasks: await world.task(alice, session_id),
    messages: await world.message(alice, session_id),
    'removed-messages': removed,
    'api-keys': (await world.apiKey(alice)).api_key_id,
    journal: text(rowsOf(await alice.rest.get('/journal?$limit=1'))[0]!, 'id')
  }
  return {
    world,
    alice,
    ids,
    spare: { sessions: spare, messages: await world.message(alice, spare) },
    socket: await openRawSocket(url, alice.token),
    rest: (method, path, body) =>
      rawRequest(url, method, path, {
        headers,
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) })
      }),
    everything: () =>
      Promise.all(
        SERVICES.filter((service) => service !== 'journal').map((service) => made(alice.rest.get(`/${service}?$limit=200`)))
      )
  }
}

/** A body that makes one, but for what is replaced in it. */
export function creation(service: Service, { ids }: FuzzScene): Body {
  const { worktrees: worktree_id, sessions: session_id, users: user_id } = ids
  const bodies: Partial<Record<Service, Body>> = {
    worktrees: { name: 'x' },
    grants: { worktree_id, user_id, level: 'view' },
    sessions: { worktree_id },
    tasks: { session_id, prompt: 'x' },
    messages: { session_id, role: 'user', content: 'x' },
    'api-keys': { name: 'x' },
    users: { email: 'x@example.com', name: 'x', password: 'a long password' }
  }
  return bodies[service] ?? {}
}

export function patchOf(service: Service): Body {
  const patches: Partial<Record<Service, Body>> = {
    messages: { content: 'x' },
    sessions: { title: 'x' },
    tasks: { because: 'x' },
    grants: { reason: 'x' }
  }
  return patches[service] ?? { name: 'x' }
}

/** What an answer tells about the inside of the daemon, or null. The caller's own field names come back to them in `errors`. */
export function insideOf({ status, body }: Answer): string | null {
  if (!(status < 500)) return `${status} ${JSON.stringify(body).slice(0, 200)}`
  if (status < 400) return null
  const errors = ((body['errors'] ?? []) as Body[]).map(({ message }) => message)
  return INSIDE.exec(JSON.stringify({ ...body, errors }))?.[0] ?? null
}

export function expectNoInside(answer: Answer, what: string): void {
  expect(insideOf(answer), what).to.equal(null)
}

const INSIDES = [
  /password_hash|secret_hash|access_version/,
  /\bselect\b.+\bfrom\b|insert into|sqlite|knex|postgres|syntax/,
  /\.(js|ts):\d|node_modules|\n\s+at |\/(work|tmp|home|root|usr)\//,
  /stoa_(pat|task)_/
]
const INSIDE = new RegExp(INSIDES.map(({ source }) => source).join('|'), 'i')
