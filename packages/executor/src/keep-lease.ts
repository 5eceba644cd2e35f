import { lifeOf, type Lease } from './lease.js'
import { growingMs, pause } from './pause.js'
import { sendOnce, type Answer } from './send-once.js'

export interface KeptLease {
  /** Aborted with a person's wish that the task stop. */
  stopRequested: AbortSignal
  /** Aborted when the lease has ended; the reason says how. Nothing may be done for the task any more. */
  lost: AbortSignal
  /** The task has ended: nothing is renewed any more. */
  release(): void
}

/**
 * Renews a lease each third of its life, so that two renewals may fail. It is lost when the daemon says so, and also
 * when its life is over without an answer: then another executor may have the task already.
 */
export function keepLease({ daemon, key }: { daemon: string; key: string }, lease: Lease): KeptLease {
  const asked = new AbortController()
  const lost = new AbortController()
  const over = new AbortController()
  const lose = (why: string): void => {
    if (!over.signal.aborted) lost.abort(why)
    over.abort()
  }
  let life = 0
  let end: NodeJS.Timeout | undefined
  const liveFor = (ms: number): void => {
    life = Math.max(0, ms)
    clearTimeout(end)
    // A little early: at the very end of it somebody else may begin.
    end = setTimeout(() => lose('the daemon did not answer while it lived'), life - Math.min(1_000, life / 20))
  }

  const renewing = async (): Promise<void> => {
    liveFor(lease.lifeMs)
    for (let tries = 0; ;) {
      await pause(tries === 0 ? life / 3 : Math.min(growingMs(tries), life / 6), over.signal)
      if (over.signal.aborted) return
      const answer = await sendOnce({
        daemon,
        credential: key,
        method: 'PATCH',
        path: `/leases/${lease.leaseId}`,
        body: {},
        timeoutMs: Math.ceil(life / 3) + 1,
        signal: over.signal
      })
      if (over.signal.aborted) return
      if (answer.kind === 'refused' && isFinal(answer)) return lose(`${answer.status} ${answer.code}`)
      tries = answer.kind === 'done' ? 0 : tries + 1
      if (answer.kind !== 'done') continue
      liveFor(lifeOf(answer.body, answer.at))
      if (answer.body['stop_requested'] === true) asked.abort('person')
    }
  }
  void renewing().catch((error: unknown) => lose(error instanceof Error ? error.message : String(error)))

  return {
    stopRequested: asked.signal,
    lost: lost.signal,
    release: () => {
      clearTimeout(end)
      over.abort()
    }
  }
}

/** 409, 404 and 401 are the end of a lease, and so is every other refusal that asking again would not change. */
function isFinal({ status }: Extract<Answer, { kind: 'refused' }>): boolean {
  return status < 500 && status !== 429 && status !== 408
}
