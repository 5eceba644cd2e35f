import { hostname } from 'node:os'
import { ExecutorError, RefusedError } from './executor-error.js'
import { parseLease, type Lease } from './lease.js'
import { growingMs, pause } from './pause.js'
import { sendOnce } from './send-once.js'
import { VERSION } from './version.js'

export interface Offer {
  daemon: string
  key: string
  name: string
  agents: string[]
  /** Says something to whoever looks after the executor. */
  say(line: string): void
}

/** How long the daemon may wait for a task before it says that there is none. */
export const WAIT_S = 20

/**
 * Asks once for a task, for as long as it takes to be answered: a daemon that is away is tried again in growing pauses.
 * Null: there is none, or the executor was told to stop meanwhile.
 */
export async function takeLease(offer: Offer, stop: AbortSignal): Promise<Lease | null> {
  const executor = { name: offer.name, host: hostname(), pid: process.pid, agents: offer.agents, version: VERSION }
  for (let tries = 1; !stop.aborted; tries++) {
    const answer = await sendOnce({
      daemon: offer.daemon,
      credential: offer.key,
      method: 'POST',
      path: '/leases',
      body: { executor, wait_s: WAIT_S },
      timeoutMs: (WAIT_S + 10) * 1000,
      signal: stop
    })
    if (answer.kind === 'done') {
      if (tries > 1) offer.say('The daemon answers again.')
      return answer.status === 204 ? null : parseLease(answer.body, answer.at)
    }
    if (answer.kind === 'refused' && !mayPass(answer.status)) throw refusal(answer)
    if (stop.aborted) return null
    const reason = answer.kind === 'refused' ? `${answer.status} ${answer.code}: ${answer.message}` : answer.reason
    if (tries === 1) offer.say(`The daemon gives no tasks (${reason}): trying again.`)
    await pause(growingMs(tries), stop)
  }
  return null
}

/** Too many requests, or something broken there: a person may mend it while we wait. */
function mayPass(status: number): boolean {
  return status === 429 || status >= 500
}

function refusal({ status, code, message }: { status: number; code: string; message: string }): ExecutorError {
  if (status === 401) return new ExecutorError('STOA_KEY is not a key of this daemon, or is no longer: make another one.')
  if (code === 'token_scope') {
    return new ExecutorError(
      'STOA_KEY may not lease tasks: make an API key with {"scope": "executor"}. To run one task with another key, use --task.'
    )
  }
  return new RefusedError('POST /leases', status, code, message, 1)
}
