import type { Database, Row } from '../database.js'
import { decodeRow, tables } from '../tables.js'

export interface ContextStatus {
  boundary_seq: number
  last_seq: number
  tokens_estimated: number
  /** How many messages the context holds, the boundary included. */
  message_count: number
  /** How many messages the transcript has. */
  live_count: number
}

/**
 * Without reading the messages: numbers are never given twice, so what lies behind the boundary is what is left of them after
 * the tombstones and the boundaries, and those have indexes of their own. `seq + 0`, so that SQLite takes the one of the
 * boundaries: by seq it reads every message (250 ms of 100,000).
 */
export async function readContextStatus(db: Database, sessionId: string): Promise<ContextStatus> {
  const [row] = await db.read(
    `SELECT s.boundary_seq, s.last_seq, s.tokens_estimated, s.message_count AS live_count,
      s.last_seq - s.boundary_seq + CASE WHEN s.boundary_seq > 0 THEN 1 ELSE 0 END
      - (SELECT COUNT(*) FROM messages m
        WHERE m.session_id = s.session_id AND m.deleted_at IS NOT NULL AND m.seq > s.boundary_seq)
      - (SELECT COUNT(*) FROM messages m
        WHERE m.session_id = s.session_id AND m.boundary_seq IS NOT NULL AND m.deleted_at IS NULL
        AND m.seq + 0 > s.boundary_seq)
      AS message_count
    FROM sessions s WHERE s.session_id = ?`,
    [sessionId]
  )
  return (row ?? {
    boundary_seq: 0,
    last_seq: 0,
    tokens_estimated: 0,
    message_count: 0,
    live_count: 0
  }) as unknown as ContextStatus
}

/**
 * The newest messages behind the boundary, by seq, and the boundary before them; with `compacted` those before it too.
 * At most `limit` of them, and no more than fit into one answer.
 */
export async function readContext(
  db: Database,
  sessionId: string,
  { boundary_seq, last_seq }: ContextStatus,
  { limit, compacted }: { limit: number; compacted: boolean }
): Promise<Row[]> {
  const boundary =
    compacted || boundary_seq === 0 || limit === 0
      ? []
      : await db.read(`${select} AND boundary_seq = ? ORDER BY seq + 0 DESC LIMIT 1`, [sessionId, boundary_seq])
  const page = `${select} ${compacted ? '' : 'AND boundary_seq IS NULL'} AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?`
  const newest: Row[] = []
  for (let [upTo, size, room] = [last_seq, FIRST_PAGE, MAX_BYTES]; room > 0; size = sizeOfNext(size, room)) {
    const wanted = Math.min(size, limit - boundary.length - newest.length)
    if (wanted === 0) break
    const rows = await db.read(page, [sessionId, compacted ? 0 : boundary_seq, upTo, wanted])
    newest.push(...rows)
    room -= bytesOf(rows)
    if (rows.length < wanted) break
    upTo = (rows.at(-1)!['seq'] as number) - 1
  }
  return [...boundary, ...newest.reverse()].map((row) => decodeRow(tables.messages, row))
}

/** The live messages after a seq and up to another, lowest first, a few at a time: some may be large. */
export async function* readTranscript(db: Database, sessionId: string, upTo: number): AsyncGenerator<Row[]> {
  for (let [after, size] = [0, FIRST_PAGE]; after < upTo;) {
    const rows = await db.read(`${select} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, [sessionId, after, upTo, size])
    if (rows.length === 0) return
    yield rows.map((row) => decodeRow(tables.messages, row))
    after = rows.at(-1)!['seq'] as number
    size = sizeOfNext(size, PAGE_BYTES - bytesOf(rows))
  }
}

const select = `SELECT ${tables.messages.columns.join(', ')} FROM messages WHERE session_id = ? AND deleted_at IS NULL`

/** One message may be 8 MB. Pages grow while there is room and start anew when there was none. */
const FIRST_PAGE = 10
const MOST_ROWS = 200
const PAGE_BYTES = 4_000_000
const MAX_BYTES = 32_000_000

function sizeOfNext(size: number, room: number): number {
  return room > 0 ? Math.min(size * 2, MOST_ROWS) : FIRST_PAGE
}

function bytesOf(rows: Row[]): number {
  return rows.reduce(
    (sum, { content, metadata }) => sum + (content as string).length + ((metadata as string | null)?.length ?? 0),
    0
  )
}
