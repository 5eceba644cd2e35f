import { setTimeout as sleep } from 'node:timers/promises'

/** Ends early when the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // The only way in which this timer fails is the signal, at which its owner looks next.
  await sleep(ms, null, { ...(signal && { signal }) }).catch(() => {})
}

/**
 * How long to wait after so many tries without an answer: it grows up to five seconds. Spread out, because a daemon that
 * comes back meets all of its executors at once.
 */
export function growingMs(tries: number): number {
  return Math.min(5_000, 250 * 2 ** (tries - 1)) * (0.75 + Math.random() / 2)
}
