import type { SweepReport } from '@stoa/core/schema/sweeps'
import type { Dialect } from './database.js'

/** Why an empty session stays, as far as the database can tell. */
export type KeptBecause = Exclude<keyof SweepReport['kept'], 'in_changed_worktree'>

/**
 * A session is empty when it has no message, not a removed one either, and no task in any state. Looked up in the tables
 * themselves: what a counter says can be wrong, and then work would be lost.
 *
 * MIN and not EXISTS: PostgreSQL turns NOT EXISTS into a join and reads all messages for it (100 ms for each 1,000 sessions
 * at 100,000 messages, against 10); an aggregate it looks up session by session, in the index.
 */
export const IS_EMPTY = `
  (SELECT MIN(em.seq) FROM messages em WHERE em.session_id = sessions.session_id) IS NULL
  AND (SELECT MIN(et.task_id) FROM tasks et WHERE et.session_id = sessions.session_id) IS NULL`

/** The first reason to keep an empty session, or null. Takes one parameter: the time since when a session counts as young. */
export function keptBecause({ readJson }: Dialect): string {
  const reason = (name: KeptBecause) => `'${name}'`
  return `
    CASE
      WHEN sessions.updated_at > ? THEN ${reason('young')}
      WHEN sessions.pinned THEN ${reason('pinned')}
      WHEN (SELECT MIN(ec.session_id) FROM sessions ec WHERE ec.parent_session_id = sessions.session_id) IS NOT NULL
        OR (SELECT MIN(ef.session_id) FROM sessions ef WHERE ef.forked_from IS NOT NULL
          AND ${readJson('ef.forked_from', 'session_id')} = sessions.session_id) IS NOT NULL THEN ${reason('with_children')}
    END`
}
