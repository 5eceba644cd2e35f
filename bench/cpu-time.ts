import { readFile } from 'node:fs/promises'

/** The kernel counts in ticks of 10 ms, everywhere but on machines nobody has. */
const TICK_MS = 10

/** Milliseconds of CPU that a process has used so far, all its threads; null where there is no /proc. */
export async function cpuTime(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  // The second field is the name in brackets and may contain anything; utime and stime are the 14th and 15th.
  const [user, system] =
    stat
      ?.slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number) ?? []
  return user === undefined || system === undefined ? null : (user + system) * TICK_MS
}
