import { ACTIVE_STATUSES } from '@stoa/core/domain/task-state'
import type { TurnRow } from '@stoa/core/domain/turns'
import type { Content } from '@stoa/core/schema/messages'
import type { Database, Row } from '../database.js'

/** Boundaries stand between the turns, not in them. */
const turns = `SELECT seq, role, tool_blocks FROM messages WHERE session_id = ? AND deleted_at IS NULL AND boundary_seq IS NULL`

/** The last rows of the transcript up to a seq, lowest first. */
export async function turnsUpTo(db: Database, sessionId: string, seq: number, limit: number): Promise<TurnRow[]> {
  const rows = await db.read(`${turns} AND seq <= ? ORDER BY seq DESC LIMIT ?`, [sessionId, seq, limit])
  return rows.reverse().map(toTurn)
}

export async function turnsAfter(db: Database, sessionId: string, seq: number, limit: number): Promise<TurnRow[]> {
  return (await db.read(`${turns} AND seq > ? ORDER BY seq LIMIT ?`, [sessionId, seq, limit])).map(toTurn)
}

/** Those that call a tool or have its result, among the next numbers. */
export async function toolsAfter(db: Database, sessionId: string, seq: number, numbers: number): Promise<TurnRow[]> {
  const tools = `${turns} AND seq > ? AND seq <= ? AND tool_blocks IS NOT NULL ORDER BY seq`
  return (await db.read(tools, [sessionId, seq, seq + numbers])).map(toTurn)
}

/** Where the turn begins that a running task is answering: at its first message, or at the last prompt. */
export async function openTurn(db: Database, sessionId: string): Promise<number | null> {
  const active = ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ')
  const [row] = await db.read(
    `SELECT
      (SELECT MIN(m.seq) FROM tasks t JOIN messages m ON m.task_id = t.task_id
        WHERE t.session_id = ? AND t.status IN (${active}) AND m.deleted_at IS NULL) AS answer,
      (SELECT m.seq FROM messages m WHERE m.session_id = ? AND m.role = 'user' AND m.deleted_at IS NULL
        ORDER BY m.seq DESC LIMIT 1) AS prompt`,
    [sessionId, sessionId]
  )
  const starts = [row?.['answer'], row?.['prompt']].filter((seq) => typeof seq === 'number')
  return starts.length > 0 ? Math.min(...starts) : null
}

/** Of the content only what a cut has to know: the rest of it may be large. */
function toTurn({ seq, role, tool_blocks }: Row): TurnRow {
  return {
    seq: seq as number,
    role: role as TurnRow['role'],
    content: JSON.parse((tool_blocks as string | null) ?? '[]') as Content
  }
}
