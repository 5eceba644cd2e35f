import type { Contestant, Started } from './contestants.js'
import { measure, type Measured } from './load.js'
import { work, WORK_NAMES, type WorkName } from './work.js'

export interface Plan {
  rounds: number
  /** How long each measurement takes, and how long each kind of work is done before the first round. */
  measure_ms: number
  warm_up_ms: number
}

export interface Sample extends Measured {
  round: number
  work: WorkName
  connections: number
  contestant: string
}

export const CONNECTIONS = [1, 32] as const

export type Field = { contestant: Contestant; started: Started }[]

/**
 * Rounds A B C A B C …: what slows the machine down for a second or two hits neighbours alike, and each ratio is taken
 * within one round. Every round begins with another contestant, so that none always follows the same one.
 */
export async function runRounds(field: Field, plan: Plan, progress: (text: string) => void): Promise<Sample[]> {
  for (const { contestant, started } of field) {
    for (const name of contestant.does) await measure(started, work[name], CONNECTIONS.at(-1)!, plan.warm_up_ms)
  }
  const samples: Sample[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    progress(`round ${round + 1} of ${plan.rounds}`)
    const order = field.map((_, index) => field[(index + round) % field.length]!)
    for (const name of WORK_NAMES) {
      for (const connections of CONNECTIONS) {
        for (const { contestant, started } of order) {
          if (!contestant.does.includes(name)) continue
          samples.push({
            round,
            work: name,
            connections,
            contestant: contestant.name,
            ...(await measure(started, work[name], connections, plan.measure_ms))
          })
        }
      }
    }
  }
  return samples
}
