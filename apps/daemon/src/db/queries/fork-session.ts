import type { Database, Dialect, Statement, Step } from '../database.js'
import { tables } from '../tables.js'
import { Sql, insertWhere, returning } from '../write.js'
import { recountSession } from './recount-session.js'

export interface Fork {
  source_id: string
  /** The seq of the last message that is copied; 0 when there is none. */
  cut: number
  /** Values of the new session. */
  session: Record<string, unknown> & { session_id: string }
  /** A new id, from which those of the messages are counted on: one for each would have to be joined, row by row. */
  first_message_id: string
  now: string
}

/**
 * Copies a session's live messages up to a seq, numbered anew from 1. The source may go on meanwhile, it only cannot go: the copy
 * is one statement, which sees it at one moment, and is made if it still ends there. Else the child stays empty, and the unit
 * does not hold.
 */
export function forkSession(dialect: Dialect, fork: Fork, allowed: Statement[]): Step[] {
  const { source_id, cut, session, first_message_id, now } = fork
  const copied = `FROM messages m WHERE m.session_id = ? AND m.deleted_at IS NULL AND m.seq <= ?`
  const [prefix, start] = countableId(first_message_id)
  const copy: Step = {
    sql: `
      INSERT INTO messages (message_id, session_id, seq, role, content, metadata, boundary_seq, preview, tokens_estimated,
        tool_blocks, words, created_at, created_by, updated_at)
      SELECT ${dialect.countedId('src.position')}, CAST(? AS text), src.position, src.role, src.content, src.metadata,
        CASE WHEN src.boundary_seq IS NOT NULL THEN NULLIF((SELECT COUNT(*) ${copied} AND m.seq <= src.boundary_seq), 0) END,
        src.preview, src.tokens_estimated, src.tool_blocks, src.words, src.created_at, src.created_by, CAST(? AS text)
      FROM (SELECT m.*, ROW_NUMBER() OVER (ORDER BY m.seq) AS position ${copied}) src
      WHERE (SELECT MAX(m.seq) ${copied}) = ?
      ORDER BY src.seq`,
    params: [prefix, start, session.session_id, source_id, cut, now, source_id, cut, source_id, cut, cut],
    optional: true
  }
  return [
    insertWhere(tables.sessions, session, [
      ...allowed,
      new Sql(`EXISTS (SELECT 1 FROM sessions fs WHERE fs.session_id = ?${dialect.keepRows('fs')})`, source_id)
    ]),
    copy,
    ...recountSession(session.session_id),
    {
      sql: `UPDATE sessions SET last_seq = message_count WHERE session_id = ? AND message_count ${cut > 0 ? '>' : '='} 0
        RETURNING ${returning(tables.sessions)}, message_count AS affected`,
      params: [session.session_id]
    }
  ]
}

/** An id is a time and chance. The last 44 bits of chance are a number to count on from; it does not reach the bits before. */
function countableId(id: string): [prefix: string, start: number] {
  return [id.slice(0, 24), parseInt(id.slice(25), 16)]
}

/** The seq of the last message that a fork at this seq has. */
export async function lastUpTo(db: Database, sessionId: string, seq: number): Promise<number> {
  const [row] = await db.read(
    'SELECT COALESCE(MAX(seq), 0) AS last FROM messages WHERE session_id = ? AND deleted_at IS NULL AND seq <= ?',
    [sessionId, seq]
  )
  return row!['last'] as number
}
