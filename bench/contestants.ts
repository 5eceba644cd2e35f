import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from './start-server.js'
import type { TestSupport } from './test-support.js'
import type { WorkName } from './work.js'
import { SESSIONS, TASKS, type World } from './world.js'

export interface Contestant {
  name: string
  /** What the table calls it. */
  title: string
  does: readonly WorkName[]
  start(): Promise<Started>
}

export interface Started {
  world: World
  pid: number
  stop(): Promise<void>
}

/** Everything that is compared. Only those that know rights can refuse. */
export function contestants(support: TestSupport): Contestant[] {
  const open = ['patch', 'get', 'message'] as const
  const guarded = [...open, 'refused'] as const
  return [
    { name: 'node-http', title: 'node:http, constant', does: open, start: () => startServer('node-http') },
    { name: 'constant-service', title: 'Feathers + Koa, constant', does: open, start: () => startServer('constant-service') },
    { name: 'bare-sqlite', title: 'bare stack, SQLite', does: open, start: () => onSqlite('bare') },
    { name: 'obvious-sqlite', title: 'obvious implementation, SQLite', does: guarded, start: () => onSqlite('obvious') },
    { name: 'stoa-sqlite', title: 'Stoa, SQLite', does: guarded, start: () => startStoa(support, {}) },
    {
      name: 'bare-postgres',
      title: 'bare stack, PostgreSQL',
      does: open,
      start: () => onPostgres(support, (url) => startServer('stock', ['bare', url]))
    },
    {
      name: 'stoa-postgres',
      title: 'Stoa, PostgreSQL',
      does: guarded,
      start: () => onPostgres(support, (databaseUrl) => startStoa(support, { databaseUrl }))
    }
  ]
}

export async function startStoa(
  support: TestSupport,
  options: { databaseUrl?: string; env?: Record<string, string> }
): Promise<Started> {
  const daemon = await support.startDaemon(options)
  const { url, pid, stop } = daemon
  return { pid, stop: () => stop.call(daemon), world: await furnish(support, url) }
}

export async function onSqlite(flavour: 'bare' | 'obvious', env: Record<string, string> = {}): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), 'stoa-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const started = await startServer('stock', [flavour, join(folder, 'bench.db')], env)
  return after(started, () => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
}

async function onPostgres(support: TestSupport, start: (url: string) => Promise<Started>): Promise<Started> {
  const { url, drop } = await support.freshDatabase()
  return after(await start(url), drop)
}

function after(started: Started, cleanUp: () => Promise<void>): Started {
  return { ...started, stop: () => started.stop().then(cleanUp) }
}

/** Through the API, as its users would. */
async function furnish({ buildWorld }: TestSupport, url: string): Promise<World> {
  const world = await buildWorld(url)
  const [owner, stranger] = [await world.user('owner'), await world.user('stranger')]
  const worktree = await world.worktree(owner, 'none')
  const sessions: string[] = []
  const tasks: string[] = []
  for (let n = 0; n < SESSIONS; n += 1) sessions.push(await world.session(owner, worktree))
  for (let n = 0; n < TASKS; n += 1) tasks.push(await world.task(owner, sessions[n % SESSIONS]!))
  return { url, token: owner.token, stranger: stranger.token, sessions, tasks }
}
