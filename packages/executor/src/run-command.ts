import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { BoundedOutput } from './bounded-output.js'
import type { Ended, Outcome, StopReason, Work } from './drivers/driver.js'
import { guardGroup } from './guard-group.js'
import { endGroup } from './process-group.js'

export interface Command extends Omit<Work, 'prompt'> {
  /** Run by `/bin/sh -c`. */
  script: string
}

/** Nothing of the command is left running when this resolves, unless it took itself out of its process group. */
export async function runCommand(command: Command): Promise<Outcome> {
  const output = new BoundedOutput()
  let child: ChildProcess
  try {
    child = await start(command, output)
  } catch (error) {
    // Such as a prompt above the 128 KiB that Linux takes as one argument, or one with a NUL in it.
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown'
    return { ended: { how: 'not_started', reason }, output: '' }
  }
  const guard = guardGroup(child.pid!)
  const exit = new Promise<Interrupted>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { how: 'exit', exitCode: code ?? 0 } : { how: 'signal', signal })
    })
  })
  const interrupted = interruption(command)
  const end = await Promise.race([exit, interrupted.promise])
  interrupted.cancel()
  // Also after an exit of its own: what a finished task left in the background must not go on changing the worktree.
  const group = await endGroup(child.pid!, command.lost)
  guard.dismiss()
  if (group !== 'left') await exit
  await drain(child)
  const ended = end.how === 'stop' || end.how === 'timeout' ? { ...end, group } : end
  return { ended, output: output.text() }
}

/** What ended the command, before it is known how the rest of its group took it. */
type Interrupted = WithoutGroup<Ended>
type WithoutGroup<T> = T extends unknown ? Omit<T, 'group'> : never

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

function interruption({ timeoutMs, stop, lost }: Command): { promise: Promise<Interrupted>; cancel(): void } {
  const over = new AbortController()
  const promise = new Promise<Interrupted>((resolve) => {
    when(lost, over.signal, () => resolve({ how: 'lost' }))
    when(stop, over.signal, () => resolve({ how: 'stop', asked: stop.reason as StopReason }))
    if (timeoutMs === null) return
    const timer = setTimeout(() => resolve({ how: 'timeout', seconds: timeoutMs / 1000 }), timeoutMs)
    when(over.signal, over.signal, () => clearTimeout(timer))
  })
  return { promise, cancel: () => over.abort() }
}

function when(signal: AbortSignal, over: AbortSignal, call: () => void): void {
  if (signal.aborted) call()
  else signal.addEventListener('abort', call, { once: true, ...(over !== signal && { signal: over }) })
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
