import type { Driver } from './driver.js'
import { shell } from './shell.js'

const DRIVERS: readonly Driver[] = [shell]

export const KNOWN_AGENTS: readonly string[] = DRIVERS.map(({ agent }) => agent)

/** A task without an agent is a shell script. Null: no driver of this executor knows the agent. */
export function findDriver(agent: string | null): Driver | null {
  return DRIVERS.find((driver) => driver.agent === (agent ?? shell.agent)) ?? null
}
