import type { Effect } from '@stoa/core/journal/entry'
import type { Database, Row } from '../database.js'

const events = `FROM journal WHERE resource_id = ? AND resource_type = 'task' AND effect LIKE '%"after":{"status":%'`

export async function countTaskEvents(db: Database, taskId: string): Promise<number> {
  const [row] = await db.read(`SELECT COUNT(*) AS found ${events}`, [taskId])
  return row!['found'] as number
}

export async function readTaskEvents(db: Database, taskId: string, limit: number, skip: number): Promise<Row[]> {
  const rows = await db.read(`SELECT seq, ts, actor_id, effect ${events} ORDER BY seq LIMIT ? OFFSET ?`, [taskId, limit, skip])
  return rows.map(({ seq, ts, actor_id, effect }) => {
    const { after } = JSON.parse(effect as string) as Effect
    return { seq, at: ts, by: actor_id, status: after!['status'], attempt: after!['attempt'] ?? null }
  })
}
