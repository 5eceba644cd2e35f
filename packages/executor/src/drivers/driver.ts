import type { Environment } from '../environment.js'
import type { GroupEnd } from '../process-group.js'

/** Runs the prompts of the tasks that name its agent. */
export interface Driver {
  /** As `agent` of a task spells it. */
  agent: string
  /** Nothing of the work is left running when this resolves, unless it took itself out of its process group. */
  run(work: Work): Promise<Outcome>
}

export interface Work {
  prompt: string
  directory: string
  /** All that the agent may see of the executor's environment. */
  environment: Environment
  timeoutMs: number | null
  /** Aborted when the work is to end in good order; the reason is a `StopReason`. */
  stop: AbortSignal
  /** Aborted when the task is no longer ours: everything ends at once, nothing is reported. */
  lost: AbortSignal
}

/** Who wanted the work to end: a person, through the daemon, or whoever ended the executor. */
export type StopReason = 'person' | 'executor'

export interface Outcome {
  ended: Ended
  output: string
}

export type Ended =
  | { how: 'exit'; exitCode: number }
  | { how: 'signal'; signal: string }
  | { how: 'timeout'; seconds: number; group: GroupEnd }
  | { how: 'stop'; asked: StopReason; group: GroupEnd }
  | { how: 'lost' }
  | { how: 'not_started'; reason: string }
