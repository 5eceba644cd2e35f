import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { BoundedOutput } from './bounded-output.js'
import type { Environment } from './environment.js'
import { endGroup } from './process-group.js'

export interface Command {
  /** Run by `/bin/sh -c`. */
  script: string
  directory: string
  environment: Environment
  timeoutMs: number | null
  /** Aborted when the executor itself is told to end. */
  stop: AbortSignal
}

export type Ended =
  | { how: 'exit'; exitCode: number }
  | { how: 'signal'; signal: string }
  | { how: 'timeout'; seconds: number }
  | { how: 'stop' }
  | { how: 'not_started'; reason: string }

/** Nothing of the command is left running when this resolves, unless it took itself out of its process group. */
export async function runCommand(command: Command): Promise<{ ended: Ended; output: string }> {
  const output = new BoundedOutput()
  let child: ChildProcess
  try {
    child = await start(command, output)
  } catch (error) {
    // Such as a prompt above the 128 KiB that Linux takes as one argument, or one with a NUL in it.
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown'
    return { ended: { how: 'not_started', reason }, output: '' }
  }
  const exit = new Promise<Ended>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { how: 'exit', exitCode: code ?? 0 } : { how: 'signal', signal })
    })
  })
  const interrupted = interruption(command)
  const ended = await Promise.race([exit, interrupted.promise])
  interrupted.cancel()
  // Also after an exit of its own: what a finished task left in the background must not go on changing the worktree.
  await endGroup(child.pid!)
  await exit
  await drain(child)
  return { ended, output: output.text() }
}

async function start(command: Command, output: BoundedOutput): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', command.script], {
    cwd: command.directory,
    env: command.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own process group, so that all of it can be ended at once.
    detached: true
  })
  child.stdout.on('data', output.source())
  child.stderr.on('data', output.source())
  await once(child, 'spawn')
  return child
}

function interruption({ timeoutMs, stop }: Command): { promise: Promise<Ended>; cancel(): void } {
  let cancel = (): void => {}
  const promise = new Promise<Ended>((resolve) => {
    const onStop = (): void => resolve({ how: 'stop' })
    const timer =
      timeoutMs === null ? undefined : setTimeout(() => resolve({ how: 'timeout', seconds: timeoutMs / 1000 }), timeoutMs)
    if (stop.aborted) onStop()
    stop.addEventListener('abort', onStop)
    cancel = () => {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    }
  })
  return { promise, cancel }
}

/** The rest of the output. A process that left the group may hold the pipe open for ever, so the wait is short. */
async function drain(child: ChildProcess): Promise<void> {
  const streams = [child.stdout!, child.stderr!]
  const closed = streams
    .filter((stream) => !stream.closed)
    .map((stream) => new Promise((resolve) => stream.once('close', resolve)))
  const patience = new AbortController()
  await Promise.race([Promise.all(closed), sleep(1_000, null, { signal: patience.signal })])
  patience.abort()
  for (const stream of streams) stream.destroy()
}
