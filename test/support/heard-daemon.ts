import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface HeardDaemon {
  url: string
  home: string
  /** All that it has written to stdout and stderr. */
  said(): string
  /** Its log file, as it is now. */
  log(): Promise<string>
  stop(): Promise<void>
}

/** A daemon in a new home, started with exactly these settings, that is listened to from its first word to its last. */
export async function startHeardDaemon(settings: Record<string, string>): Promise<HeardDaemon> {
  const home = await mkdtemp(join(tmpdir(), 'stoa-home-'))
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('STOA_'))
  const env = { ...Object.fromEntries(inherited), STOA_HOME: home, STOA_PORT: '0', STOA_EXECUTORS: '0', ...settings }
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const end = () => {
    child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', end)
  const exited = once(child, 'exit')
  let heard = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (heard += chunk.toString()))

  const deadline = Date.now() + START_MS
  while (!READY.test(heard)) {
    if (child.exitCode !== null || Date.now() > deadline) {
      end()
      throw new Error(`the daemon did not start\n${heard}`)
    }
    await sleep(10)
  }
  return {
    url: READY.exec(heard)![1]!,
    home,
    said: () => heard,
    log: () => readFile(join(home, 'logs', 'stoa.log'), 'utf8'),
    stop: async () => {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(late)
      process.off('exit', end)
      await rm(home, { recursive: true, force: true, maxRetries: 3 })
      if (child.exitCode !== 0) throw new Error(`after SIGTERM the daemon ended with ${child.exitCode ?? child.signalCode}\n${heard}`)
    }
  }
}

const MAIN = fileURLToPath(new URL('../../../apps/daemon/dist/main.js', import.meta.url))
const READY = /^stoa listening on (http:\/\/\S+)$/m
const START_MS = 30_000
const STOP_MS = 15_000
