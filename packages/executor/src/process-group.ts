import { setTimeout as sleep } from 'node:timers/promises'

export const GRACE_MS = 5_000
/** Nothing survives SIGKILL but a process that is stuck in the kernel: it is not waited for. */
const KILLED_MS = 2_000

/** How a group ended: on SIGTERM (or before it), by SIGKILL, or not at all as far as can be seen. */
export type GroupEnd = 'ended' | 'killed' | 'left'

/**
 * Ends everything in a process group: asks, waits until all of it is gone, and after the grace, or when `lost` is
 * aborted, takes it down, and looks whether it is gone. The shell usually dies at once while what it started still
 * tidies up, so the whole group is waited for and not its leader.
 */
export async function endGroup(leader: number, lost?: AbortSignal, graceMs = GRACE_MS): Promise<GroupEnd> {
  if (!lost?.aborted) {
    if (!signalGroup(leader, 'SIGTERM')) return 'ended'
    if (await isGone(leader, graceMs, lost)) return 'ended'
  }
  if (!signalGroup(leader, 'SIGKILL')) return 'ended'
  return (await isGone(leader, KILLED_MS)) ? 'killed' : 'left'
}

async function isGone(leader: number, withinMs: number, lost?: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline && !lost?.aborted) {
    await sleep(20)
    if (!signalGroup(leader, 0)) return true
  }
  return false
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
