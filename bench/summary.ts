import { CONNECTIONS, type Sample } from './rounds.js'
import { WORK_NAMES, type WorkName } from './work.js'

/** Medians over the rounds; the spread of the throughput is its least and its most. */
export interface Line {
  work: WorkName
  connections: number
  contestant: string
  per_second: number
  least: number
  most: number
  p50_ms: number
  p99_ms: number
  cpu_ms: number | null
}

/** How many times the throughput of `against`: the median of the ratios within each round, the least and the most. */
export interface Ratio {
  work: WorkName
  connections: number
  contestant: string
  against: string
  ratio: number
  least: number
  most: number
}

export function summarize(samples: Sample[]): Line[] {
  return eachCell((work, connections) => {
    const cell = samples.filter((sample) => sample.work === work && sample.connections === connections)
    return [...new Set(cell.map(({ contestant }) => contestant))].map((contestant) => {
      const own = cell.filter((sample) => sample.contestant === contestant)
      const rates = own.map(({ per_second }) => per_second)
      return {
        work,
        connections,
        contestant,
        per_second: median(rates),
        least: Math.min(...rates),
        most: Math.max(...rates),
        p50_ms: median(own.map(({ p50_ms }) => p50_ms)),
        p99_ms: median(own.map(({ p99_ms }) => p99_ms)),
        cpu_ms: own.every(({ cpu_ms }) => cpu_ms !== null) ? median(own.map(({ cpu_ms }) => cpu_ms!)) : null
      }
    })
  })
}

export function ratios(samples: Sample[], pairs: readonly (readonly [string, string])[]): Ratio[] {
  return eachCell((work, connections) => {
    const rates = (contestant: string) =>
      new Map(
        samples
          .filter((sample) => sample.work === work && sample.connections === connections && sample.contestant === contestant)
          .map(({ round, per_second }) => [round, per_second])
      )
    return pairs.flatMap(([contestant, against]) => {
      const [own, other] = [rates(contestant), rates(against)]
      const quotients = [...own].flatMap(([round, rate]) => (other.has(round) ? [rate / other.get(round)!] : []))
      return quotients.length > 0
        ? [
            {
              work,
              connections,
              contestant,
              against,
              ratio: median(quotients),
              least: Math.min(...quotients),
              most: Math.max(...quotients)
            }
          ]
        : []
    })
  })
}

function eachCell<T>(of: (work: WorkName, connections: number) => T[]): T[] {
  return WORK_NAMES.flatMap((work) => CONNECTIONS.flatMap((connections) => of(work, connections)))
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
