import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { client, codeOf, rowsOf, type Answer, type Body, type Door } from '../support/client.js'
import { openSocket } from '../support/socket.js'
import { inParallel } from '../support/world.js'
import { type Credential, type Cell } from './matrix-cells.js'
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
    prepared.add(fresh?.record)
    const { call, record } = fresh ?? cell
    const [path, method, ...args] = call
    results.push({ cell, record, answer: await (await doors.of(cell.credential)).call(path, method, ...args) })
  })
  const rows = (await world.journalSince(mark)).filter(
    (row) => row.actor_id !== keeper.user_id && !(row.action.endsWith('.create') && prepared.has(row.resource.id))
  )

  const problems = [
    ...results.flatMap(wrongAnswer),
    ...wrongRows(results, rows, doors.transport),
    ...wrongVersions(cells, before, await versions(scene, cells))
  ]
  expect(summary(problems), `${problems.length} problems in ${cells.length} cells`).to.deep.equal([])
}

const isAllowed = ({ code }: Cell): boolean => code === 'allowed'

function wrongAnswer({ cell, answer }: Result): string[] {
  const code = answer.status < 300 ? 'allowed' : codeOf(answer)
  if (answer.status !== cell.status || code !== cell.code) {
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
  const who = cell.code === 'not_authenticated' ? 'nobody' : `${cell.credential.actor.user_id} by ${cell.credential.credential}`
  const id = record ?? (isAllowed(cell) && IDS[service!] && answer.body[IDS[service!]!]) ?? '*'
  return [who, cell.action, decision, cell.code, transport, namesRecord(cell.action, cell.code) ? String(id) : '*'].join(' ')
}

function rowKey({ actor_id, credential, action, decision, reason_code, transport, resource }: JournalRecord): string {
  const who = actor_id ? `${actor_id} by ${credential?.kind}` : 'nobody'
  return [who, action, decision, reason_code, transport, namesRecord(action, reason_code) ? resource.id : '*'].join(' ')
}

/** A list, a record that was not made, and what was not looked up for lack of a credential have no id to name. */
function namesRecord(action: string, code: string): boolean {
  if (action === 'authentication.remove' || code === 'not_authenticated') return false
  if (action === 'task-tokens.create' || action === 'message-revisions.find') return true
  return !action.endsWith('.find') && (code === 'allowed' || !action.endsWith('.create'))
}

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
    cells.filter((cell) => isWrite(cell) && !cell.action.startsWith('api-keys')).map(({ record, call }) => [record!, call[0]])
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

const isWrite = ({ call, record }: Cell): boolean => record !== undefined && (call[1] === 'patch' || call[1] === 'remove')

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
