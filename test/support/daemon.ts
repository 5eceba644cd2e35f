import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface Daemon {
  url: string
  home: string
  pid: number
  /** SIGTERM; the daemon has to exit with 0. A home that was made for this daemon goes with it. */
  stop(): Promise<void>
  /** SIGKILL; the home stays, so that another daemon can start in it. */
  kill(): Promise<void>
}

export interface DaemonOptions {
  databaseUrl?: string
  home?: string
  env?: Record<string, string>
}

/** The first admin of every daemon that the tests start. */
export const ADMIN = { email: 'root@example.com', password: 'root has a long password' }

/** Starts the built daemon as a child process and waits until it listens. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const home = options.home ?? (await makeHome())
  const child = spawn(process.execPath, [MAIN], { env: environment(home, options), stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const output = capture(child)
  const url = await listening(child, output)

  const stop = async () => {
    if (await exitsAfter(child, 'SIGTERM')) expectCleanExit(child, output)
    if (!options.home) await removeHome(home)
  }
  const kill = async () => {
    await exitsAfter(child, 'SIGKILL')
  }
  return { url, home, pid: child.pid!, stop, kill }
}

const MAIN = fileURLToPath(new URL('../../../apps/daemon/dist/main.js', import.meta.url))
const START_MS = 30_000
const STOP_MS = 15_000

const running = new Set<ChildProcess>()
const homes = new Set<string>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const home of homes) rmSync(home, { recursive: true, force: true, maxRetries: 3 })
})

async function makeHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'stoa-home-'))
  homes.add(home)
  return home
}

async function removeHome(home: string): Promise<void> {
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
  homes.delete(home)
}

/** The settings of whoever runs the tests must not reach the daemon. */
function environment(home: string, { databaseUrl, env }: DaemonOptions): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('STOA_'))
  return {
    ...Object.fromEntries(inherited),
    STOA_HOME: home,
    STOA_PORT: '0',
    STOA_EXECUTORS: '0',
    STOA_ADMIN_EMAIL: ADMIN.email,
    STOA_ADMIN_PASSWORD: ADMIN.password,
    ...(databaseUrl && { STOA_DATABASE_URL: databaseUrl }),
    ...env
  }
}

interface Output {
  stdout: string
  stderr: string
}

/** The last of what the daemon said. Both pipes are read to the end, or the daemon would block on a full one. */
function capture(child: ChildProcess): Output {
  const output: Output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]!.on('data', (chunk: Buffer) => (output[stream] = (output[stream] + chunk.toString()).slice(-64_000)))
  }
  return output
}

async function listening(child: ChildProcess, output: Output): Promise<string> {
  const deadline = Date.now() + START_MS
  while (Date.now() < deadline) {
    const ready = /^stoa listening on (http:\/\/\S+)$/m.exec(output.stdout)
    if (ready) return ready[1]!
    if (hasExited(child)) throw new Error(`the daemon exited with ${child.exitCode ?? child.signalCode}\n${output.stderr}`)
    await sleep(10)
  }
  child.kill('SIGKILL')
  throw new Error(`the daemon did not listen within ${START_MS} ms\n${output.stdout}\n${output.stderr}`)
}

/** False when it had ended before. */
async function exitsAfter(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
  if (hasExited(child)) return false
  const exited = once(child, 'exit')
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(late)
  return true
}

function expectCleanExit(child: ChildProcess, output: Output): void {
  if (child.exitCode === 0) return
  throw new Error(`after SIGTERM the daemon ended with ${child.exitCode ?? child.signalCode}, not with 0\n${output.stderr}`)
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
