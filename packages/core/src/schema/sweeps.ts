import { Type, type Static } from '@sinclair/typebox'
import { closed, id, nullable, time } from './types.js'

/** How many sessions one run removes at most, so that a run ends. */
export const SWEEP_LIMIT = 500

/** Removing has to be asked for; a run that only looks is what one gets by leaving everything away. */
export const sweeping = Type.Object(
  { dry_run: Type.Optional(Type.Boolean({ default: true, description: 'false: removes. Otherwise nothing is changed.' })) },
  closed
)

/** Ids and stamps, no titles: an admin has no silent access to content. */
const emptySession = Type.Object({ session_id: id(), worktree_id: id(), created_at: time(), created_by: nullable(id()) })

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const sweepReport = Type.Object({
  dry_run: Type.Boolean(),
  guard_s: count('Younger than this many seconds is kept.'),
  removed: Type.Array(emptySession, {
    maxItems: SWEEP_LIMIT,
    description: 'What was removed, or would be by a run that removes.'
  }),
  kept: Type.Object(
    {
      young: count('Changed within the guard.'),
      pinned: count('Pinned.'),
      with_children: count('The parent of a session, or forked.'),
      in_changed_worktree: count('In a git worktree that has uncommitted changes, or could not be asked.')
    },
    {
      description: 'Empty sessions that stay, each counted once, by the first reason. With `more`: of those that were looked at.'
    }
  ),
  more: Type.Boolean({ description: `There are others: a run ends after ${SWEEP_LIMIT}.` })
})

export type Sweeping = Static<typeof sweeping>
export type SweepReport = Static<typeof sweepReport>
