import type { SweepReport, Sweeping } from '@stoa/core/schema/sweeps'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'
import { stillAllowed } from '../../hooks/commit-unit.js'
import { allowedEntry } from '../../hooks/journal-entry.js'
import { sweepEmptySessions, type Sweeper } from '../../sweep/sweep-empty-sessions.js'

/** One run, when an admin asks for it. */
export class SweepsClass {
  constructor(private readonly deps: Deps) {}

  async create({ dry_run }: Sweeping, params: StoaParams): Promise<SweepReport> {
    const access = accessOf(params)
    const { report, decision_id } = await sweepEmptySessions(this.deps, adminSweeper(this.deps, access), {
      dryRun: dry_run ?? true
    })
    access.decision_id = decision_id
    return report
  }
}

/** Each removal is an act of this admin, and holds only while they are one. */
function adminSweeper(deps: Deps, access: Access): Sweeper {
  return {
    allowed: () => stillAllowed(deps, access),
    renew: () => access.renew(),
    entry: (effect, session) =>
      allowedEntry(
        deps,
        access,
        effect,
        session && {
          resource_type: 'session',
          resource_id: session.session_id,
          session_id: session.session_id,
          worktree_id: session.worktree_id
        }
      )
  }
}
