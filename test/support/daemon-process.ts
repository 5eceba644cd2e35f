import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface DaemonProcess {
  pid: number
  /** What it has said so far. */
  stdout(): string
  stderr(): string
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>
  /** Waits for a text on stdout; an end before that is an error. */
  says(text: RegExp): Promise<RegExpExecArray>
  signal(name: 'SIGTERM' | 'SIGKILL'): void
}

/** Undefined: not set, where something else would set it. */
export type Settings = Record<string, string | undefined>

/** The built daemon with exactly these settings, for tests of how it starts and how it ends. */
export function spawnDaemon(settings: Settings): DaemonProcess {
  // The settings of whoever runs the tests must not reach the daemon.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('STOA_'))
  const env = { ...Object.fromEntries(inherited), STOA_PORT: '0', STOA_EXECUTORS: '0', ...settings }
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  // `close` and not `exit`: by then everything it said has been read.
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    running.delete(child)
    return code ?? signal!
  })
  return {
    pid: child.pid!,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    ended,
    says: async (text) => {
      const deadline = Date.now() + START_MS
      for (;;) {
        const found = text.exec(output.stdout)
        if (found) return found
        if (!running.has(child) || Date.now() > deadline) {
          child.kill('SIGKILL')
          throw new Error(`the daemon did not say ${text}\n${output.stdout}\n${output.stderr}`)
        }
        await sleep(5)
      }
    },
    signal: (name) => void child.kill(name)
  }
}

/** Starts a daemon that has to refuse, and returns how it ended and what it said about it. */
export async function refusedStart(settings: Settings): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const daemon = spawnDaemon(settings)
  const late = setTimeout(() => daemon.signal('SIGKILL'), START_MS)
  const code = await daemon.ended
  clearTimeout(late)
  return { code, stdout: daemon.stdout(), stderr: daemon.stderr() }
}

export const READY = /^stoa listening on (http:\/\/(\S+):(\d+))$/m

const MAIN = fileURLToPath(new URL('../../../apps/daemon/dist/main.js', import.meta.url))
const START_MS = 30_000
const running = new Set<ChildProcess>()

// First of all that is done on exit: their directories are removed then too.
process.prependListener('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
