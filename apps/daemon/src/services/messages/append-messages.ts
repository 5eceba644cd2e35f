import type { MessageCreate } from '@stoa/core/schema/messages'
import type { Dialect, Statement, Step } from '../../db/database.js'

export interface NewMessage extends MessageCreate {
  message_id: string
}

const columns = ['message_id', 'task_id', 'role', 'content', 'metadata', 'client_message_id'] as const

/**
 * Two steps: take the numbers, then write the rows. The counter is written first, so two appends can never read the same
 * number; it is bookkeeping, so the session's `version` stays.
 */
export function appendMessages(dialect: Dialect, sessionId: string, messages: NewMessage[], allowed: Statement, stamp: { at: string; by: string }): Step[] {
  const count = messages.length
  const { rows } = dialect
  return [
    {
      sql: `UPDATE sessions SET last_seq = last_seq + ?, message_count = message_count + ? WHERE session_id = ? AND ${allowed.sql} RETURNING last_seq`,
      params: [count, count, sessionId, ...allowed.params]
    },
    {
      sql: `
        INSERT INTO messages (session_id, seq, created_at, updated_at, created_by, ${columns.join(', ')})
        SELECT s.session_id, s.last_seq - CAST(? AS integer) + ${rows.position}, CAST(? AS text), CAST(? AS text), CAST(? AS text), ${columns.map((_, index) => rows.at(index, 'text')).join(', ')}
        FROM sessions s, ${rows.each}
        WHERE s.session_id = ? ORDER BY ${rows.position}
        RETURNING *`,
      params: [count, stamp.at, stamp.at, stamp.by, JSON.stringify(messages.map(encode)), sessionId]
    }
  ]
}

function encode(message: NewMessage): (string | null)[] {
  const { message_id, task_id, role, content, metadata, client_message_id } = message
  return [message_id, task_id ?? null, role, JSON.stringify(content), metadata ? JSON.stringify(metadata) : null, client_message_id ?? null]
}
