import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { client, codeOf, rowsOf, type Answer, type Body, type Door } from '../support/client.js'
import { openSocket } from '../support/socket.js'
import { inParallel } from '../support/world.js'
import { type Cell, type Credential } from './matrix-cell.js'
import { type Scene } from './matrix-scene.js'

const IN_FLIGHT = 16

export interface Doors {
  transport: Door['transport']
  of(credential: Credential): Promise<Door>
  close(): Promise<void>
}

/** One door per credential, opened when it is first needed. */
export function openDoors(url: string, transport: Door['transport']): Doors {
  const doors = new Map<string | undefined, Promise<Door>>()
  return {
    transport,
    of({ token }) {
      if (transport === 'rest') return Promise.resolve(client(url, token))
      const door = doors.get(token) ?? openSocket(url, token)
      doors.set(token, door)
      return door
    },
    async close() {
      for (const door of await Promise.all(doors.values())) door.close()
    }
  }
}

interface Result {
  cell: Cell
  answer: Answer
  /** The record that the call named. */
  record: string | undefined
}

/** Runs all cells, then holds the answers, the journal and the records against what the table says. */
export async function runCells(scene: Scene, doors: Doors, cells: Cell[]): Promise<void> {
  const { world, keeper } = scene
  for (const { credential } of cells) await doors.of(credential)
  const before = await versions(scene, cells)
  const mark = await world.journalEnd()
  const results: Result[] = []
  const prepared = new Set<string | null | undefined>()
  await inParallel(IN_FLIGHT, cells, async (cell) => {
    const fresh = isAllowed(cell) ? await cell.fresh?.() : undefined
    for (const id of [fresh?.record, ...(fresh?.made ?? [])]) prepared.add(id)
    const { call, record } = fresh ?? cell
    const [path, method, ...args] = call
    const door = await doors.of({ ...cell.credential, ...(fresh?.token && { token: fresh.token }) })
    results.push({ cell, record, answer: await door.call(path, method, ...args) })
  })
  const rows = (await world.journalSince(mark)).filter(
    (row) =>
      row.actor_id !== keeper.user_id &&
      row.action !== SIGN_IN &&
      !(PREPARING.includes(row.action) && prepared.has(row.resource.id))
  )

  const problems = [
    ...results.flatMap(wrongAnswer),
    ...wrongRows(results, rows, doors.transport),
    ...wrongVersions(cells, before, await versions(scene, cells))
  ]
  expect(summary(problems), `${problems.length} problems in ${cells.length} cells`).to.deep.equal([])
}

/** A socket signs in when it is opened, also for a token that was made just now. */
const SIGN_IN = 'authentication.create'

/** What `fresh` does in the name of the actor. */
const PREPARING = ['sessions.create', 'task-tokens.create', 'api-keys.create']

const isAllowed = ({ code }: Cell): boolean => code === 'allowed'

function wrongAnswer({ cell, answer }: Result): string[] {
  const code = answer.status < 300 ? 'allowed' : codeOf(answer)
  // That there is no task to lease is an answer too.
  const status = answer.status === 204 ? 201 : answer.status
  if (status !== cell.status || code !== cell.code) {
    return [
      `${title(cell)}: ${answer.status} ${code}, not ${cell.status} ${cell.code} ${JSON.stringify(cell.call)} ${JSON.stringify(answer.body)}`
    ]
  }
  if (!cell.list || !isAllowed(cell)) return []
  const { id, sees } = cell.list
  const found = rowsOf(answer).some((row) => Object.values(row).includes(id))
  return found === sees ? [] : [`${title(cell)}: the list ${found ? 'shows' : 'does not show'} ${id}`]
}

/** Each cell has its one row, which is the one that its answer names; and there are no other rows. */
function wrongRows(results: Result[], rows: JournalRecord[], transport: Door['transport']): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const wanted = results.map((result) => expectedRow(result, transport))
  const misnamed = results.flatMap(({ cell, answer }, index) => {
    const named = answer.headers.get('x-decision-id') ?? (answer.body['data'] as Body | undefined)?.['decision_id']
    // A socket has no headers: an answer that allows names no row.
    if (named === undefined && transport === 'socketio' && answer.status < 300) return []
    const row = byId.get(String(named))
    const key = row ? rowKey(row) : 'no row'
    return key === wanted[index] ? [] : [`${title(cell)}: the answer names ${key}, not ${wanted[index]}`]
  })
  const surplus = count(rows.map(rowKey))
  for (const [key, times] of count(wanted)) surplus.set(key, (surplus.get(key) ?? 0) - times)
  const uneven = [...surplus].filter(([, times]) => times !== 0)
  return [...misnamed, ...uneven.map(([key, times]) => `${Math.abs(times)} row(s) too ${times > 0 ? 'many' : 'few'} of ${key}`)]
}

function expectedRow({ cell, record, answer }: Result, transport: Door['transport']): string {
  const decision = isAllowed(cell) ? 'allow' : 'deny'
  const [service] = cell.action.split('.')
  const who = cell.code === 'not_authenticated' ? 'nobody' : `${cell.credential.actor.user_id} by ${kindOf(cell)}`
  const answered = (field: string | undefined) => (isAllowed(cell) && field ? answer.body[field] : undefined)
  const id = answered(MADE[service!]) ?? record ?? answered(IDS[service!]) ?? '*'
  const named = namesRecord(cell.action, cell.code) ? String(id) : '*'
  const type =
    cell.action === 'session-compactions.create' && isAllowed(cell) ? 'message' : (TYPES[cell.action] ?? TYPES[service!])
  return [who, cell.action, decision, cell.code, transport, type, named].join(' ')
}

function rowKey({ actor_id, credential, action, decision, reason_code, transport, resource }: JournalRecord): string {
  const who = actor_id ? `${actor_id} by ${credential?.kind}` : 'nobody'
  const named = namesRecord(action, reason_code) ? resource.id : '*'
  return [who, action, decision, reason_code, transport, resource.type, named].join(' ')
}

/** A list, a record that was not made, and what was not looked up for lack of a credential have no id to name. */
function namesRecord(action: string, code: string): boolean {
  if (OF_NO_RECORD.includes(action) || code === 'not_authenticated') return false
  if (OF_ONE_RECORD.includes(action)) return true
  return !action.endsWith('.find') && (code === 'allowed' || !action.endsWith('.create'))
}

/** For the journal the key of an executor is a key. */
function kindOf({ credential: { credential } }: Cell): string {
  return credential === 'executor_key' ? 'api_key' : credential
}

const OF_NO_RECORD = ['authentication.remove', 'sweeps.create', 'leases.create']

/** What hangs on one record and names it, whatever comes of it. A fork that is made names itself. */
const OF_ONE_RECORD = [
  'task-tokens.create',
  'task-stops.create',
  'task-events.find',
  'message-revisions.find',
  'message-restores.create',
  'session-forks.create',
  'session-truncations.create',
  'session-clears.create',
  'session-undos.create',
  'session-context.find',
  'session-exports.find'
]

const TYPES: Record<string, string> = {
  authentication: 'token',
  users: 'user',
  'api-keys': 'api_key',
  worktrees: 'worktree',
  grants: 'grant',
  sessions: 'session',
  'session-forks': 'session',
  'session-truncations': 'session',
  'session-clears': 'session',
  'session-undos': 'session',
  // What a compaction makes is a message.
  'session-compactions': 'session',
  'session-context': 'session',
  'session-exports': 'session',
  tasks: 'task',
  'task-tokens': 'task',
  'task-stops': 'task',
  'task-events': 'task',
  messages: 'message',
  'message-revisions': 'message',
  'message-restores': 'message',
  'removed-messages': 'removed_message',
  journal: 'journal_entry',
  sweeps: 'daemon',
  leases: 'daemon',
  'leases.patch': 'lease'
}

/** The new record, where the call names the one that it is made from. */
const MADE: Record<string, string> = { 'session-forks': 'session_id', 'session-compactions': 'message_id' }

const IDS: Record<string, string> = {
  worktrees: 'worktree_id',
  grants: 'grant_id',
  sessions: 'session_id',
  tasks: 'task_id',
  messages: 'message_id',
  users: 'user_id',
  'api-keys': 'api_key_id'
}

/** The versions of the records that several cells share. */
async function versions({ world, keeper }: Scene, cells: Cell[]): Promise<Map<string, number>> {
  const shared = new Map(
    cells.filter((cell) => isWrite(cell) && !/^(api-keys|leases)/.test(cell.action)).map((cell) => [cell.record!, homeOf(cell)])
  )
  const found = new Map<string, number>()
  await inParallel(IN_FLIGHT, [...shared], async ([record, service]) => {
    const reader = service === 'users' ? world.root : keeper
    found.set(record, Number((await reader.rest.get(`/${service}/${record}`)).body['version']))
  })
  return found
}

/** A record changed once for each patch that was allowed, and by nothing else. */
function wrongVersions(cells: Cell[], before: Map<string, number>, after: Map<string, number>): string[] {
  return [...before].flatMap(([record, version]) => {
    const patches = cells.filter((cell) => cell.record === record && cell.call[1] === 'patch' && isAllowed(cell))
    const real = patches.filter((cell) => !cell.same).length
    const changes = after.get(record)! - version
    if (Number.isNaN(changes)) return [`${record} is gone`]
    return changes >= real && changes <= patches.length
      ? []
      : [`${record} changed ${changes} times, for ${patches.length} allowed patches`]
  })
}

const isWrite = ({ call, record }: Cell): boolean => record !== undefined && ['patch', 'remove', 'create'].includes(call[1])

/** Where the record of a call can be read: `sessions/:id/fork` is about a session, and what can be restored is a tombstone. */
const homeOf = ({ action, call }: Cell): string =>
  action === 'message-restores.create' ? 'removed-messages' : call[0].split('/')[0]!

function title({ action, credential: { actor, credential, reach } }: Cell): string {
  return `${action} as ${actor.role} by ${credential}${credential === 'task_token' ? ` (${reach})` : ''}`
}

/** A wrong rule shows in hundreds of cells; the first of each kind are enough to find it. */
function summary(problems: string[]): string[] {
  const kinds = new Map<string, string>()
  for (const problem of problems) {
    const kind = problem.replace(/[0-9a-f-]{36}/g, 'ID').replace(/change \d+/g, 'change')
    if (!kinds.has(kind)) kinds.set(kind, problem)
  }
  return [...kinds.values()].slice(0, 40)
}

function count(keys: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}
