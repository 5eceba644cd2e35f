import type { MessageCreate } from '@stoa/core/schema/messages'
import type { Dialect, Statement, Step } from '../database.js'

export interface NewMessage extends MessageCreate {
  message_id: string
}

const columns = ['message_id', 'task_id', 'role', 'content', 'metadata', 'client_message_id'] as const

/**
 * Takes the numbers, then writes the rows. The counter is written first, so two appends can never read the same number; it
 * is bookkeeping, so the session's `version` stays. PostgreSQL does both in one statement: as two, the session's row was
 * locked over four round trips, and appending was slower than on the bare stack.
 */
export function appendMessages(
  dialect: Dialect,
  sessionId: string,
  messages: NewMessage[],
  allowed: Statement,
  stamp: { at: string; by: string }
): Step[] {
  const counter: Step = {
    sql: `
      UPDATE sessions SET last_seq = last_seq + ?, message_count = message_count + ?
      WHERE session_id = ? AND ${allowed.sql}
      RETURNING session_id, last_seq`,
    params: [messages.length, messages.length, sessionId, ...allowed.params]
  }
  if (dialect.name === 'sqlite') return [counter, insertRows(dialect, 'sessions', sessionId, messages, stamp)]
  return [{ ...insertRows(dialect, 'counter', sessionId, messages, stamp), first: { name: 'counter', ...counter } }]
}

/** `source` has the session with its counter as it is after the update. */
function insertRows(
  { rows }: Dialect,
  source: string,
  sessionId: string,
  messages: NewMessage[],
  stamp: { at: string; by: string }
): Step {
  const values = columns.map((_, index) => rows.at(index, 'text'))
  return {
    sql: `
      INSERT INTO messages (session_id, seq, created_at, updated_at, created_by, ${columns.join(', ')})
      SELECT s.session_id, s.last_seq - CAST(? AS integer) + ${rows.position},
        CAST(? AS text), CAST(? AS text), CAST(? AS text), ${values.join(', ')}
      FROM ${source} s, ${rows.each}
      WHERE s.session_id = ? ORDER BY ${rows.position}
      RETURNING *`,
    params: [messages.length, stamp.at, stamp.at, stamp.by, JSON.stringify(messages.map(encode)), sessionId]
  }
}

function encode(message: NewMessage): (string | null)[] {
  const { message_id, task_id, role, content, metadata, client_message_id } = message
  return [
    message_id,
    task_id ?? null,
    role,
    JSON.stringify(content),
    metadata ? JSON.stringify(metadata) : null,
    client_message_id ?? null
  ]
}
