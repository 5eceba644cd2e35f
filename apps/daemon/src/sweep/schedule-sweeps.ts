import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../deps.js'
import { systemEntry } from '../hooks/journal-entry.js'
import { sweepEmptySessions, type Sweeper } from './sweep-empty-sessions.js'

/** Sweeps every STOA_SWEEP_EVERY_S seconds, the first time after that long; with 0, the default, never. */
export function scheduleSweeps(deps: Deps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const everyMs = deps.config.sweepEverySeconds * 1000
  const running = everyMs === 0 ? Promise.resolve() : keepSweeping(deps, everyMs, stopping.signal)
  return {
    /** Lets the removal that is under way finish. */
    stop: async () => {
      stopping.abort()
      await running
    }
  }
}

async function keepSweeping(deps: Deps, everyMs: number, stop: AbortSignal): Promise<void> {
  for (;;) {
    await pause(everyMs, stop)
    if (stop.aborted) return
    const started = performance.now()
    const line = () => ({ actor: 'sweep', action: 'sweeps.create', ms: Math.round(performance.now() - started) })
    try {
      const { report } = await sweepEmptySessions(deps, systemSweeper(deps), { dryRun: false, stop })
      deps.logger.info({ ...line(), outcome: 'ok', removed: report.removed.length, kept: report.kept, more: report.more })
    } catch (error) {
      const cause = (error as { cause?: unknown } | null)?.cause ?? error
      deps.logger.error({ ...line(), err: cause }, `the sweep failed; the next one is in ${everyMs / 1000} s`)
    }
  }
}

/** Node's longest timer is shorter than the longest interval; a longer one would fire at once. */
const LONGEST_MS = 0x7fffffff

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= LONGEST_MS) {
    // Rejects when it is told to stop, and for nothing else.
    await sleep(Math.min(left, LONGEST_MS), undefined, { signal }).catch(() => undefined)
  }
}

/** Nobody asked, so nobody's rights are looked at; the journal says that it was the schedule. */
function systemSweeper(deps: Deps): Sweeper {
  return {
    allowed: () => null,
    renew: () => Promise.resolve(),
    entry: (effect, session) =>
      systemEntry(deps, {
        system: 'sweep',
        decision: 'allow',
        reason_code: 'allowed',
        reason: 'the schedule sweeps empty sessions',
        action: 'sweeps.create',
        resource_type: session ? 'session' : 'daemon',
        resource_id: session?.session_id ?? null,
        worktree_id: session?.worktree_id ?? null,
        session_id: session?.session_id ?? null,
        effect
      })
  }
}
