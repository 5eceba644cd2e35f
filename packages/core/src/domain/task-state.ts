/**
 * A task waits (`queued`), is handed to an executor (`dispatching`), runs, may wait for a person (`awaiting_permission`),
 * may be asked to stop (`stopping`), and ends exactly once. A caller who reports without a lease goes from `queued` to
 * `running` directly. Terminal is final: the same report again changes nothing and is fine, another one is refused.
 */
export const TASK_STATUSES = [
  'queued',
  'dispatching',
  'running',
  'awaiting_permission',
  'stopping',
  'completed',
  'failed',
  'stopped',
  'timed_out'
] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

export const TERMINAL_STATUSES = ['completed', 'failed', 'stopped', 'timed_out'] as const satisfies readonly TaskStatus[]
export const ACTIVE_STATUSES = [
  'dispatching',
  'running',
  'awaiting_permission',
  'stopping'
] as const satisfies readonly TaskStatus[]

const transitions: Record<TaskStatus, readonly TaskStatus[]> = {
  queued: ['dispatching', 'running', 'stopped', 'failed'],
  dispatching: ['queued', 'running', 'stopped', 'failed'],
  running: ['awaiting_permission', 'stopping', ...TERMINAL_STATUSES],
  awaiting_permission: ['running', 'stopping', ...TERMINAL_STATUSES],
  stopping: TERMINAL_STATUSES,
  completed: [],
  failed: [],
  stopped: [],
  timed_out: []
}

export function isTerminal(status: TaskStatus): boolean {
  return transitions[status].length === 0
}

/** How often a task is handed out; an executor may be lost once. */
export const MAX_ATTEMPTS = 2

/** What becomes of a task whose executor is not heard of any more. */
export function afterLoss(status: TaskStatus, attempt: number): { status: TaskStatus; because: string } {
  if (status === 'stopping') return { status: 'stopped', because: 'was asked to stop, and its executor is gone' }
  return attempt < MAX_ATTEMPTS
    ? { status: 'queued', because: 'its executor was lost; waits for another' }
    : { status: 'failed', because: 'its executor was lost, for the second time' }
}

export type Transition = 'moves' | 'repeats' | 'illegal'

/** A report of the status a task already has repeats it. */
export function transition(from: TaskStatus, to: TaskStatus): Transition {
  if (from === to) return 'repeats'
  return transitions[from].includes(to) ? 'moves' : 'illegal'
}
