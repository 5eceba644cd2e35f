import type { MessageCreate } from '@stoa/core/schema/messages'
import { contentColumns, type ContentColumns } from '../content-columns.js'
import type { Dialect, Statement, Step, Value } from '../database.js'
import { tables } from '../tables.js'
import { returning } from '../write.js'

export type NewMessage = Omit<MessageCreate, 'content'> &
  ContentColumns & {
    message_id: string
    /** A boundary: in the context it stands for everything up to this seq. */
    boundary_seq?: number
  }

/** Everything that takes as long as its content is done here, once, however often the append has to be tried. */
export function newMessage(message_id: string, message: MessageCreate): NewMessage {
  return { message_id, ...message, ...contentColumns(message.content) }
}

const columns = {
  message_id: 'text',
  task_id: 'text',
  role: 'text',
  content: 'text',
  metadata: 'text',
  client_message_id: 'text',
  boundary_seq: 'integer',
  preview: 'text',
  tokens_estimated: 'integer',
  tool_blocks: 'text',
  words: 'text'
} as const

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
  const tokens = messages.reduce((sum, { tokens_estimated }) => sum + tokens_estimated, 0)
  const counter: Step = {
    sql: `
      UPDATE sessions SET last_seq = last_seq + ?, message_count = message_count + ?, tokens_estimated = tokens_estimated + ?
      WHERE session_id = ? AND ${allowed.sql}
      RETURNING session_id, last_seq`,
    params: [messages.length, messages.length, tokens, sessionId, ...allowed.params]
  }
  if (dialect.name === 'sqlite') return [counter, insertRows(dialect, 'sessions', sessionId, messages, stamp)]
  return [{ ...insertRows(dialect, 'counter', sessionId, messages, stamp), first: { name: 'counter', ...counter } }]
}

type MessageRow = Record<keyof typeof columns, unknown>

/** `source` has the session with its counter as it is after the update. */
function insertRows(
  { rows }: Dialect,
  source: string,
  sessionId: string,
  messages: Partial<MessageRow>[],
  stamp: { at: string; by: string }
): Step {
  const names = Object.keys(columns) as (keyof MessageRow)[]
  const values = names.map((name, index) => rows.at(index, columns[name]))
  return {
    sql: `
      INSERT INTO messages (session_id, seq, created_at, updated_at, created_by, ${names.join(', ')})
      SELECT s.session_id, s.last_seq - CAST(? AS integer) + ${rows.position},
        CAST(? AS text), CAST(? AS text), CAST(? AS text), ${values.join(', ')}
      FROM ${source} s, ${rows.each}
      WHERE s.session_id = ? ORDER BY ${rows.position}
      RETURNING ${returning(tables.messages)}`,
    params: [
      messages.length,
      stamp.at,
      stamp.at,
      stamp.by,
      JSON.stringify(messages.map((message) => names.map((name) => encode(message[name])))),
      sessionId
    ]
  }
}

/** `content` is text by now; what is still an object is JSON that is kept as it is. */
function encode(value: unknown): Value {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : ((value ?? null) as Value)
}
