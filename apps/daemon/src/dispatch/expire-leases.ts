import { afterLoss, isTerminal } from '@stoa/core/domain/task-state'
import { endLease } from '../db/queries/end-lease.js'
import { lostLeases, type LostLease } from '../db/queries/lost-leases.js'
import { tables } from '../db/tables.js'
import { Sql, updateWhere } from '../db/write.js'
import type { Deps } from '../deps.js'
import { commitAndCount } from '../hooks/commit-unit.js'
import { systemEntry } from '../hooks/journal-entry.js'

/** Looks for leases that were not renewed. The token of such a lease is refused already; this gives its task to the queue again. */
export function expireLeases(deps: Deps): { stop(): Promise<void> } {
  const everyMs = Math.min(2_000, deps.config.leaseSeconds * 500)
  let stopped = false
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(async () => {
      if (!stopped) await expireOnce(deps).catch((error: unknown) => deps.logger.error({ err: error }, 'expiring leases failed'))
    })
  }, everyMs)
  return {
    stop: async () => {
      stopped = true
      clearInterval(timer)
      await running
    }
  }
}

async function expireOnce(deps: Deps): Promise<void> {
  const now = deps.now().toISOString()
  const lost = await lostLeases(deps.db, now)
  for (const lease of lost) await expire(deps, lease, now)
  if (lost.length > 0) deps.bell.ring()
}

async function expire(
  deps: Deps,
  { lease_id, task_id, session_id, worktree_id, status, attempt }: LostLease,
  now: string
): Promise<void> {
  const after = afterLoss(status, attempt)
  const values = {
    ...after,
    lease_id: null,
    updated_at: now,
    ...(isTerminal(after.status) && { completed_at: now }),
    ...(after.status === 'failed' && {
      error: { code: 'executor_lost', message: 'The executor was not heard of any more, twice.' }
    })
  }
  const entry = systemEntry(deps, {
    system: 'dispatch',
    decision: 'allow',
    reason_code: 'executor_lost',
    reason: 'the lease was not renewed',
    action: 'leases.create',
    resource_type: 'task',
    resource_id: task_id,
    session_id,
    worktree_id,
    effect: { change: 'patched', fields: ['status'], after: { status: after.status, attempt } }
  })
  await commitAndCount(deps, {
    steps: [
      {
        sql: 'UPDATE leases SET ended_at = ? WHERE lease_id = ? AND ended_at IS NULL AND expires_at <= ? RETURNING lease_id',
        params: [now, lease_id, now]
      },
      updateWhere(tables.tasks, values, [new Sql('task_id = ? AND lease_id = ? AND status = ?', task_id, lease_id, status)]),
      ...endLease(lease_id, now)
    ],
    entries: [entry]
  })
}
