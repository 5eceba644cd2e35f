import { isId } from '@stoa/core/ids'
import type { Task } from '@stoa/core/schema/tasks'
import type { Worktree } from '@stoa/core/schema/worktrees'
import { ExecutorError } from './executor-error.js'
import type { Json } from './send-once.js'

/** A task that is ours for a while. */
export interface Lease {
  leaseId: string
  attempt: number
  /** How long it lives without renewal, counted from when the daemon answered. */
  lifeMs: number
  /** The token of the task: it dies with the lease. */
  token: string
  task: Task
  worktree: Worktree
}

/** Only what is used is checked: an older executor must get on with a daemon whose records have grown. */
export function parseLease(body: Json, at: string | null): Lease {
  const { lease_id, attempt, token } = body
  const task = body['task'] as Task | undefined
  const worktree = body['worktree'] as Worktree | undefined
  const path = worktree?.path
  if (
    !isId(lease_id) ||
    typeof attempt !== 'number' ||
    typeof token !== 'string' ||
    !isId(task?.task_id) ||
    !isId(task.session_id) ||
    typeof task.prompt !== 'string' ||
    !worktree ||
    (path !== null && typeof path !== 'string')
  ) {
    throw new ExecutorError('The answer to POST /leases is not a lease: is --daemon the URL of a Stoa daemon?')
  }
  return { leaseId: lease_id, attempt, lifeMs: lifeOf(body, at), token, task, worktree }
}

/**
 * How long a lease lives from now on. `expires_at` is a time of the daemon's clock; where ours differs from that by more
 * than the rounding of the `Date` header, the header says what time it is there, and the second it may lack is taken off.
 */
export function lifeOf(body: Json, at: string | null, now = Date.now()): number {
  const expires = Date.parse(String(body['expires_at']))
  if (Number.isNaN(expires)) throw new ExecutorError('The daemon did not say when the lease ends.')
  const theirs = Date.parse(at ?? '')
  const alike = Number.isNaN(theirs) || Math.abs(theirs - now) < 2_000
  return expires - (alike ? now : theirs + 1_000)
}
