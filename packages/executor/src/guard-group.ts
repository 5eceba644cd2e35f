import { spawn } from 'node:child_process'

/**
 * Ends a process group when this executor is gone without having ended it, as after SIGKILL: its task will be given to
 * another executor, and two must not work in one directory. The guard reads from a pipe of ours; the pipe's end without
 * a word is our death. Outside of our process group, or a signal to that would take both.
 */
export function guardGroup(leader: number): { dismiss(): void } {
  const guard = spawn('/bin/sh', ['-c', 'read -r word || kill -s KILL -- "-$0"', String(leader)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    detached: true
  })
  // Without a guard the task runs all the same: what it guards against is rare.
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  return { dismiss: () => void guard.stdin.end('dismissed\n') }
}
