import type { Dialect, Row, Statement, Step } from '../database.js'
import { Sql } from '../write.js'
import { recountSession } from './recount-session.js'

/** What a change of one message does to the counters of its session: it goes, comes back, or says something longer. */
export interface Counted {
  messages: 1 | 0 | -1
  tokens: number
}

/**
 * The steps of a change of one message, with what it does to its session. On PostgreSQL whatever changes rows of a session takes
 * its guard first, then the session, then the rows, so that two changes cannot wait for each other. SQLite has one writer; there
 * the change goes first, because a unit whose first step does not hold costs the others of its group nothing. A boundary moves
 * more than itself, so then all is counted anew.
 */
export function changeMessage(
  dialect: Dialect,
  message: Row,
  { messages, tokens }: Counted,
  allowed: Statement,
  change: Step
): Step[] {
  const session_id = message['session_id'] as string
  const count: Step = {
    sql: `UPDATE sessions SET message_count = message_count + ?,
        tokens_estimated = tokens_estimated + CASE WHEN boundary_seq < ? THEN CAST(? AS integer) ELSE 0 END
      WHERE session_id = ? AND ${allowed.sql}`,
    params: [messages, message['seq'] as number, tokens, session_id, ...allowed.params],
    optional: true
  }
  const recount = message['boundary_seq'] === null ? [] : recountSession(session_id)
  return [
    ...(dialect.name === 'sqlite' ? [change, count] : [count, change]),
    ...recount.map((step) => ({ ...step, optional: true }))
  ]
}

/** What was counted is what is there: a revision never changes. */
export function asLoaded(message: Row): Sql {
  return new Sql('revision = ?', message['revision'] as number)
}
