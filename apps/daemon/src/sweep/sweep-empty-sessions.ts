import { StoaError } from '@stoa/core/errors'
import type { Effect, JournalEntry } from '@stoa/core/journal/entry'
import { SWEEP_LIMIT, type SweepReport } from '@stoa/core/schema/sweeps'
import type { Statement } from '../db/database.js'
import { findEmptySessions, type EmptySession } from '../db/queries/find-empty-sessions.js'
import { removeEmptySession } from '../db/queries/remove-empty-session.js'
import type { Deps } from '../deps.js'
import { hasChanges } from '../git/has-changes.js'
import { commitAndCount } from '../hooks/commit-unit.js'

/** On whose behalf a run removes: an admin who asked for it, or the schedule. */
export interface Sweeper {
  /** What the journal says: about one session that is removed, or about the run. */
  entry(effect: Effect, session?: EmptySession): JournalEntry
  /** The condition that each removal carries, as it stands now. */
  allowed(): Statement | null
  /** A removal did not hold: looks whether it is still allowed, and throws when it is not. */
  renew(): Promise<void>
}

export interface SweepOptions {
  dryRun: boolean
  /** Ends the run before the next session. */
  stop?: AbortSignal
}

/**
 * Removes the sessions that nobody has ever used, each in a unit of its own: one that is used at the same moment is left
 * alone. A run that removes nothing, because it may not or because there is nothing, records that it looked.
 */
export async function sweepEmptySessions(
  deps: Deps,
  sweeper: Sweeper,
  { dryRun, stop }: SweepOptions
): Promise<{ report: SweepReport; decision_id: string }> {
  const guard_s = deps.config.emptySessionGuardSeconds
  const youngAfter = new Date(deps.now().getTime() - guard_s * 1000).toISOString()
  const kept = { young: 0, pinned: 0, with_children: 0, in_changed_worktree: 0 }
  const report: SweepReport = { dry_run: dryRun, guard_s, removed: [], kept, more: false }
  let decision_id: string | null = null
  const isChanged = askOnce()

  try {
    for await (const session of findEmptySessions(deps.db, youngAfter)) {
      report.more = stop?.aborted === true
      if (report.more) break
      const reason = session.kept ?? ((await isChanged(session, stop)) ? 'in_changed_worktree' : null)
      if (reason) {
        kept[reason] += 1
        continue
      }
      report.more = report.removed.length === SWEEP_LIMIT
      if (report.more) break
      const removal = dryRun ? null : await remove(deps, sweeper, session, youngAfter)
      decision_id ??= removal
      if (dryRun || removal) report.removed.push(inReport(session))
    }
  } catch (error) {
    throw afterRemoving(dryRun ? 0 : report.removed.length, error)
  }
  return { report, decision_id: decision_id ?? (await recordLook(deps, sweeper, report.removed.length)) }
}

/** How often a removal is tried: it may also not hold because a right has changed, or on PostgreSQL because of a deadlock. */
const ATTEMPTS = 3

/** The id of the journal entry; null when the session is no longer empty, or no longer there. */
async function remove(deps: Deps, sweeper: Sweeper, session: EmptySession, youngAfter: string): Promise<string | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const entry = sweeper.entry({ change: 'removed' }, session)
    const steps = removeEmptySession(deps.db.dialect, session.session_id, youngAfter, sweeper.allowed())
    if (await commitAndCount(deps, { steps, entries: [entry] })) return entry.id
    await sweeper.renew()
  }
  return null
}

async function recordLook(deps: Deps, sweeper: Sweeper, count: number): Promise<string> {
  const entry = sweeper.entry({ change: 'listed', count })
  await commitAndCount(deps, { steps: [], entries: [entry] })
  return entry.id
}

/** Each worktree is asked once in a run, and only when there is something to remove in it. */
function askOnce(): (session: EmptySession, stop?: AbortSignal) => Promise<boolean> {
  const asked = new Map<string, Promise<boolean>>()
  return ({ worktree_id, path }, stop) => {
    if (path === null) return Promise.resolve(false)
    const answer = asked.get(worktree_id) ?? hasChanges(path, stop)
    asked.set(worktree_id, answer)
    return answer
  }
}

function inReport({ session_id, worktree_id, created_at, created_by }: EmptySession): SweepReport['removed'][number] {
  return { session_id, worktree_id, created_at, created_by }
}

/** "Nothing was changed" would be wrong by now. */
function afterRemoving(count: number, error: unknown): unknown {
  if (count === 0 || !(error instanceof StoaError) || error.code !== 'unavailable') return error
  const message = `The database cannot be written now. ${count} sessions were removed before, each with its journal entry; sweep again.`
  return new StoaError('unavailable', { message, cause: error.cause })
}
