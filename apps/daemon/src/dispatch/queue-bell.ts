/**
 * Wakes those who wait for a task when one of this daemon's requests may have made one ready. Only a hint: whoever is woken
 * looks in the database, and looks there from time to time anyway, because other daemons ring other bells.
 */
export interface QueueBell {
  ring(): void
  /** Resolves at the next ring, or after `ms`. */
  wait(ms: number): Promise<void>
  /** Nobody waits any more: the daemon stops. */
  close(): void
  readonly isClosed: boolean
}

export function makeQueueBell(): QueueBell {
  const waiting = new Set<() => void>()
  let isClosed = false
  const ring = (): void => {
    for (const wake of waiting) wake()
  }
  return {
    ring,
    close() {
      isClosed = true
      ring()
    },
    get isClosed() {
      return isClosed
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        waiting.add(wake)
      })
  }
}
