import { join } from 'node:path'
import type { Started } from '../contestants.js'
import { median } from '../summary.js'
import type { TestSupport } from '../test-support.js'
import { oneConnection } from './one-connection.js'
import { seed } from './seed.js'
import { scaleWork, type ScaleWorld } from './work.js'
import { MESSAGES } from './world.js'

export interface ScalePlan {
  /** How many times larger the large one is. */
  factor: number
  rounds: number
  measure_ms: number
}

/** The time of one request over one connection: the median of the rounds' medians, and the ratio within each round. */
export interface ScaleLine {
  database: string
  work: string
  small_ms: number
  large_ms: number
  ratio: number
  least: number
  most: number
}

export interface Scale {
  plan: ScalePlan
  lines: ScaleLine[]
}

export async function runScale(support: TestSupport, plan: ScalePlan, progress: (text: string) => void): Promise<Scale> {
  const lines: ScaleLine[] = []
  for (const database of ['SQLite', 'PostgreSQL']) {
    const up: Started[] = []
    try {
      for (const factor of [1, plan.factor]) {
        progress(`filling ${database}, ${factor}×`)
        up.push(await startFilled(support, database, factor))
      }
      lines.push(...(await measureAll(database, up as [Started, Started], plan, progress)))
    } finally {
      for (const started of up) await started.stop()
    }
  }
  return { plan, lines }
}

/** Small and large take turns with every request, so that what slows the machine down hits both alike. */
async function measureAll(
  database: string,
  up: [Started, Started],
  plan: ScalePlan,
  progress: (text: string) => void
): Promise<ScaleLine[]> {
  const clients = up.map(({ world }) => oneConnection(world))
  const rounds = scaleWork.map((): [number, number][] => [])
  // The round before the first one warms up.
  for (let round = -1; round < plan.rounds; round += 1) {
    progress(`${database}, round ${round + 1} of ${plan.rounds}`)
    for (const [index, work] of scaleWork.entries()) {
      const times: [number[], number[]] = [[], []]
      const end = performance.now() + plan.measure_ms
      for (let n = 0; n < 3 || performance.now() < end; n += 1) {
        for (const size of n % 2 === 0 ? [0, 1] : [1, 0]) times[size]!.push(await clients[size]!.send(work, n))
      }
      if (round >= 0) rounds[index]!.push([median(times[0]), median(times[1])])
    }
  }
  clients.forEach(({ close }) => close())
  return scaleWork.map(({ title }, index) => {
    const medians = rounds[index]!
    const ratios = medians.map(([small, large]) => large / small)
    return {
      database,
      work: title,
      small_ms: median(medians.map(([small]) => small)),
      large_ms: median(medians.map(([, large]) => large)),
      ratio: median(ratios),
      least: Math.min(...ratios),
      most: Math.max(...ratios)
    }
  })
}

async function startFilled(support: TestSupport, database: string, factor: number): Promise<Started> {
  const postgres = database === 'PostgreSQL' ? await support.freshDatabase() : null
  const daemon = await support.startDaemon(postgres ? { databaseUrl: postgres.url } : {})
  const { url, pid } = daemon
  const people = await support.buildWorld(url)
  const [owner, member] = [await people.user('owner'), await people.user('member')]
  const { sessions, tasks } = await seed(postgres?.url ?? join(daemon.home, 'stoa.db'), factor, {
    owner: owner.user_id,
    member: member.user_id
  })
  const world: ScaleWorld = { url, token: member.token, stranger: null, sessions, tasks, messages: MESSAGES * factor }
  return { world, pid, stop: () => daemon.stop().then(() => postgres?.drop()) }
}
