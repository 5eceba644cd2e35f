import { KNOWN_AGENTS } from './drivers/find-driver.js'
import { pause } from './pause.js'
import { runLease, type Holder } from './run-lease.js'
import { takeLease, type Offer } from './take-lease.js'

export interface Worker extends Offer, Holder {
  /** Take one task and end, also when there is none. */
  once: boolean
}

/** Takes tasks and runs them, one after the other, until it is told to stop. */
export async function work(worker: Worker, stop: AbortSignal): Promise<void> {
  const { agents, say } = worker
  say(`executor ${worker.name} takes tasks of ${worker.daemon} for: ${agents.join(', ')}`)
  const unknown = agents.filter((agent) => !KNOWN_AGENTS.includes(agent))
  if (unknown.length > 0) say(`there is no driver for ${unknown.join(', ')}: tasks for them will fail`)
  do {
    const asked = performance.now()
    const lease = await takeLease(worker, stop)
    // Told to stop in the moment in which a task was given: it is not begun, and goes to another when the lease ends.
    if (stop.aborted) return
    if (lease) say(await runLease(worker, lease, stop))
    // The daemon waits for us; one that does not must not be asked without end.
    else if (!worker.once) await pause(Math.max(0, 1_000 - (performance.now() - asked)), stop)
  } while (!worker.once && !stop.aborted)
}
