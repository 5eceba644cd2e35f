import type { Database, Row } from '../database.js'
import { decodeRow, publicRecord, type Table } from '../tables.js'
import { returning } from '../write.js'

/** One record as clients see it. */
export async function readRecord(db: Database, table: Table, id: string): Promise<Row | null> {
  const [row] = await db.read(`SELECT ${returning(table)} FROM ${table.name} WHERE ${table.id} = ?`, [id])
  return row ? publicRecord(table, decodeRow(table, row)) : null
}
