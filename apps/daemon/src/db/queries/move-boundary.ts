import type { Database, Step } from '../database.js'
import { recountTokens } from './recount-session.js'

/** Numbers are 32-bit integers. */
export const MAX_SEQ = 2_147_483_647

export interface BoundaryPlan {
  /** Of the session, as it was before anything else was read. */
  version: number
  /** The newest message that is not to be kept; null when there is none behind the boundary. */
  candidate: number | null
  /** How many messages lie behind the boundary and up to a seq. */
  count(upTo: number): Promise<number>
}

export async function planBoundary(db: Database, sessionId: string, keepLast: number, lastSeq: number): Promise<BoundaryPlan> {
  const behind = `FROM messages m JOIN sessions s ON s.session_id = m.session_id
    WHERE m.session_id = ? AND m.deleted_at IS NULL AND m.boundary_seq IS NULL AND m.seq > s.boundary_seq`
  const [session] = await db.read('SELECT version FROM sessions WHERE session_id = ?', [sessionId])
  const [row] = await db.read(`SELECT m.seq ${behind} AND m.seq <= ? ORDER BY m.seq DESC LIMIT 1 OFFSET ?`, [
    sessionId,
    lastSeq,
    keepLast
  ])
  return {
    version: (session?.['version'] as number | undefined) ?? 0,
    candidate: (row?.['seq'] as number | undefined) ?? null,
    count: async (upTo) => {
      const [counted] = await db.read(`SELECT COUNT(*) AS found ${behind} AND m.seq <= ?`, [sessionId, upTo])
      return counted!['found'] as number
    }
  }
}

/** Behind the append of the boundary message, which is the answer of the unit. */
export function moveBoundary(sessionId: string, boundary: number): Step[] {
  return [
    { sql: 'UPDATE sessions SET boundary_seq = ? WHERE session_id = ?', params: [boundary, sessionId], optional: true },
    { ...recountTokens(sessionId), optional: true }
  ]
}
