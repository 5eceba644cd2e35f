import { setTimeout as sleep } from 'node:timers/promises'

export const GRACE_MS = 5_000

/**
 * Ends everything in a process group: asks, waits until all of it is gone, and after the grace takes it down. The
 * shell usually dies at once while what it started still tidies up, so the whole group is waited for and not its leader.
 */
export async function endGroup(leader: number, graceMs = GRACE_MS): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return
  const deadline = performance.now() + graceMs
  while (performance.now() < deadline) {
    await sleep(20)
    if (!signalGroup(leader, 0)) return
  }
  signalGroup(leader, 'SIGKILL')
}

/** False when there is nobody (left) in the group whom we may signal. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal)
    return true
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ESRCH' || code === 'EPERM') return false
    throw error
  }
}
