import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunningExecutor {
  child: ChildProcess
  ended: Promise<Ended>
}

/** The built program, as a child process with the credential in its environment. */
export function startExecutor(args: string[], environment: Record<string, string>): RunningExecutor {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], LANG: 'C.UTF-8', ...environment },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return { child, ended: outcome(child) }
}

/** An executor that a failed test left behind goes with the tests. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

const MAIN = createRequire(import.meta.url).resolve('@stoa/executor/dist/main.js')

async function outcome(child: ChildProcess): Promise<Ended> {
  const ended: Ended = { code: null, stdout: '', stderr: '' }
  child.stdout!.on('data', (chunk: Buffer) => (ended.stdout += chunk.toString()))
  child.stderr!.on('data', (chunk: Buffer) => (ended.stderr += chunk.toString()))
  await once(child, 'close')
  ended.code = child.exitCode
  return ended
}
