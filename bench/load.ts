import autocannon, { type Options, type Request } from 'autocannon'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Started } from './contestants.js'
import { cpuTime } from './cpu-time.js'
import type { Work } from './work.js'
import type { World } from './world.js'

export interface Measured {
  per_second: number
  p50_ms: number
  p99_ms: number
  requests: number
  /** CPU of the server's own process for one request, which other programs on the machine hardly change; null where it is not known. */
  cpu_ms: number | null
}

/** Connections are made and buffers grow in the first moments, which are not counted. */
const RAMP_MS = 50
/** No measurement is longer, however slow the server. */
const MOST_MS = 10_000

/**
 * Puts load on one server for `ms` milliseconds, or longer until every connection had two answers. An answer that is
 * not the expected one stops the benchmark.
 */
export async function measure({ world, pid }: Started, work: Work, connections: number, ms: number): Promise<Measured> {
  const times: number[] = []
  const statuses = new Map<number, number>()
  let counted = 0
  let done = false
  const cpuBefore = await cpuTime(pid)
  const errors = await run(
    { ...optionsFor(world, work, connections), duration: MOST_MS / 1000 },
    (status, time, elapsed, stop) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (elapsed < RAMP_MS || done) return
      times.push(time)
      counted = elapsed - RAMP_MS
      done = counted >= ms && times.length >= connections * 2
      if (done) stop()
    }
  )
  refuseUnexpected(world, work, statuses, errors)
  // What the cut connections had under way ends before the next server is measured.
  await sleep(30)
  const cpu = await cpuTime(pid)
  return {
    per_second: (times.length * 1000) / counted,
    ...percentiles(times),
    requests: times.length,
    cpu_ms: cpu === null || cpuBefore === null ? null : (cpu - cpuBefore) / statuses.get(work.status)!
  }
}

/** Sends exactly `amount` requests. */
export async function send(world: World, work: Work, connections: number, amount: number): Promise<void> {
  const statuses = new Map<number, number>()
  const errors = await run({ ...optionsFor(world, work, connections), amount }, (status) =>
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  )
  refuseUnexpected(world, work, statuses, errors)
}

function optionsFor(world: World, work: Work, connections: number): Options {
  let connection = 0
  return {
    url: world.url,
    connections,
    // How often autocannon looks whether it is done; its own samples are not used.
    sampleInt: 20,
    timeout: 20,
    skipAggregateResult: true,
    setupClient: (client) => client.setRequests(requestsOf(world, work, connection++))
  }
}

/** autocannon itself keeps whole milliseconds and counts by the second; both are too coarse here. Resolves to the number of connection errors. */
function run(
  options: Options,
  onAnswer: (status: number, time: number, elapsed: number, stop: () => void) => void
): Promise<number> {
  return new Promise((resolve, reject) => {
    const instance = autocannon(options, (error: Error | null, result) => (error ? reject(error) : resolve(result.errors)))
    const started = performance.now()
    const stop = () => instance.stop()
    instance.on('response', (_client, status, _bytes, time) => onAnswer(status, time, performance.now() - started, stop))
  })
}

function headersFor(world: World, { by }: Work): Record<string, string> {
  const token = by === 'owner' ? world.token : world.stranger
  return { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
}

/**
 * Each connection starts at another record: in step they would all want the same row at the same time. It goes through
 * the records twice before it begins again, so that what it sends differs from what it sent to that record before.
 */
function requestsOf(world: World, work: Work, connection: number): Request[] {
  const length = world.tasks.length * 2
  const first = connection * (length + 7)
  return Array.from({ length }, (_, index) => ({ headers: headersFor(world, work), ...work.request(world, first + index) }))
}

function refuseUnexpected({ url }: World, { title, status }: Work, statuses: Map<number, number>, errors: number): void {
  const others = [...statuses].filter(([code]) => code !== status)
  if (others.length > 0 || errors > 0 || statuses.size === 0) {
    throw new Error(
      `${title} at ${url}: expected only ${status}, got ${JSON.stringify(Object.fromEntries(statuses))} and ${errors} connection errors`
    )
  }
}

function percentiles(times: number[]): { p50_ms: number; p99_ms: number } {
  const sorted = Float64Array.from(times).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}
