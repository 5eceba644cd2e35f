import { parseArgs } from 'node:util'
import type { SweepReport } from '@stoa/core/schema/sweeps'
import { readClientConfig } from '../../config.js'
import { UsageError } from '../cli-error.js'
import type { Command } from '../command.js'
import { DEFAULT_DAEMON, daemonClient } from '../daemon-client.js'

export const sweep: Command = {
  name: 'sweep',
  summary: 'removes sessions that were never used; without --apply it only says which',
  help: `stoa sweep [--apply] [--json] [--daemon URL]

Says which sessions a sweep would remove: those without any message or task, older than the daemon's
STOA_EMPTY_SESSION_GUARD_S, not pinned, without children or forks, in a worktree without uncommitted changes.

  --apply       removes them, at most 500 in one run
  --json        prints the daemon's answer as it is
  --daemon URL  the daemon; ${DEFAULT_DAEMON} unless told
  --help        this text

STOA_KEY in the environment is an API key (stoa_pat_…) of an admin.
`,
  async run(args, say) {
    const given = parse(args)
    if (given.help) return say(sweep.help)
    const { key } = readClientConfig()
    const client = daemonClient(given.daemon ?? DEFAULT_DAEMON, key)
    const report = (await client.post('/sweeps', { dry_run: !given.apply })) as SweepReport
    say(given.json ? `${JSON.stringify(report, null, 2)}\n` : describe(report))
  }
}

function parse(args: string[]) {
  try {
    const boolean = { type: 'boolean' } as const
    return parseArgs({
      args,
      options: { apply: boolean, json: boolean, daemon: { type: 'string' }, help: { ...boolean, short: 'h' } }
    }).values
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\nSee stoa sweep --help.`)
  }
}

function describe({ dry_run, guard_s, removed, kept, more }: SweepReport): string {
  const sessions = `${removed.length} empty ${removed.length === 1 ? 'session' : 'sessions'}`
  const lines = [
    dry_run ? `${sessions} would be removed. Nothing was changed; --apply removes.` : `${sessions} removed.`,
    ...removed.map(
      ({ session_id, worktree_id, created_at, created_by }) =>
        `  ${session_id}  created ${created_at} by ${created_by ?? 'nobody'} in worktree ${worktree_id}`
    ),
    `Kept: ${kept.young} younger than ${guard_s} s, ${kept.pinned} pinned, ${kept.with_children} with children or forks, ` +
      `${kept.in_changed_worktree} in worktrees with uncommitted changes.`,
    ...(more ? ['There are more: one run ends here. Sweep again.'] : [])
  ]
  return `${lines.join('\n')}\n`
}
