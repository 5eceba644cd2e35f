import { contentColumns } from '@stoa/daemon/db/content-columns'
import { isPostgres } from '@stoa/daemon/db/database-url'
import knex, { type Knex } from 'knex'
import { MESSAGES, OTHER_MESSAGES, RARE, SESSIONS, WORKTREES, sees, textOf } from './world.js'

export interface Seeded {
  /** The long session. */
  long: string
  /** All of them; the long one is the first. */
  sessions: string[]
  tasks: string[]
}

/**
 * Writes a whole database of `factor` times the size, in bulk: through the API it would take an hour. The long session and
 * the others grow side by side, as they would.
 */
export async function seed(url: string, factor: number, people: { owner: string; member: string }): Promise<Seeded> {
  const db = knex(
    isPostgres(url)
      ? { client: 'pg', connection: url, pool: { min: 1, max: 1 } }
      : { client: 'sqlite3', connection: { filename: url }, useNullAsDefault: true, pool: { min: 1, max: 1 } }
  )
  try {
    return await db.transaction((trx) => seedAll(trx, factor, people)).finally(() => settle(db, url))
  } finally {
    await db.destroy()
  }
}

async function seedAll(trx: Knex, factor: number, { owner, member }: { owner: string; member: string }): Promise<Seeded> {
  const worktrees = Array.from({ length: WORKTREES * factor }, (_, n) => idOf('e', n))
  const sessions = Array.from({ length: SESSIONS * factor }, (_, n) => idOf('a', n))
  const tasks = sessions.map((_, n) => idOf('b', n))
  const stamps = (n: number) => ({ created_at: timeOf(n), created_by: owner, updated_at: timeOf(n) })
  await insert(
    trx,
    'worktrees',
    worktrees.map((worktree_id, n) => ({
      worktree_id,
      name: `worktree ${n}`,
      others_can: sees(n) === 'as others' ? 'view' : 'none',
      ...stamps(n)
    }))
  )
  const grants = worktrees.flatMap((worktree_id, n) => [
    { worktree_id, user_id: owner, level: 'owner' },
    ...(sees(n) === 'by grant' ? [{ worktree_id, user_id: member, level: 'view' }] : [])
  ])
  await insert(
    trx,
    'grants',
    grants.map((grant, n) => ({ grant_id: idOf('d', n), ...grant, granted_by: owner, ...stamps(n) }))
  )
  await insert(
    trx,
    'sessions',
    sessions.map((session_id, n) => ({
      session_id,
      worktree_id: worktrees[n % worktrees.length],
      title: `session ${n}`,
      // The order of the changes is not that of the creation.
      ...stamps(n),
      updated_at: timeOf((n * 7919) % sessions.length)
    }))
  )
  await insert(
    trx,
    'tasks',
    tasks.map((task_id, n) => ({ task_id, session_id: sessions[n], prompt: 'do it', status: 'completed', ...stamps(n) }))
  )
  await insertMessages(trx, factor, sessions, worktrees.length, owner)
  await trx.raw(`UPDATE sessions SET
    (message_count, last_seq, tokens_estimated) = (SELECT COUNT(*), COALESCE(MAX(m.seq), 0), COALESCE(SUM(m.tokens_estimated), 0)
      FROM messages m WHERE m.session_id = sessions.session_id)`)
  return { long: sessions[0]!, sessions, tasks: tasks.slice(0, 64) }
}

async function insertMessages(trx: Knex, factor: number, sessions: string[], worktrees: number, by: string): Promise<void> {
  const steps = MESSAGES * factor
  const others = sessions.slice(1)
  const rare = rareSteps(steps, (step) => (1 + (step % others.length)) % worktrees)
  let rows: Record<string, unknown>[] = []
  for (let step = 0; step < steps; step += 1) {
    const both = [
      { session: 0, seq: step + 1, rare: rare.long.has(step) },
      { session: 1 + (step % others.length), seq: 1 + Math.floor(step / others.length), rare: rare.others.has(step) }
    ].filter(({ session, seq }) => session === 0 || seq <= OTHER_MESSAGES)
    for (const [index, each] of both.entries()) {
      const at = timeOf(step)
      rows.push({
        message_id: idOf('c', step * 2 + index),
        session_id: sessions[each.session],
        seq: each.seq,
        role: each.seq % 2 === 1 ? 'user' : 'assistant',
        ...contentColumns(textOf(step * 2 + index, each.rare)),
        created_at: at,
        created_by: by,
        updated_at: at
      })
    }
    if (rows.length < 2000 && step < steps - 1) continue
    await insert(trx, 'messages', rows)
    rows = []
  }
}

/** As many rare words at every size, spread evenly; of those in the other sessions the member sees each second one. */
function rareSteps(steps: number, worktreeAt: (step: number) => number): { long: Set<number>; others: Set<number> } {
  const long = new Set<number>()
  const others = new Set<number>()
  for (let n = 0; n < RARE; n += 1) {
    const step = Math.floor((n * steps) / RARE)
    long.add(step)
    let other = step
    while ((sees(worktreeAt(other)) !== null) !== (n % 2 === 0)) other += 1
    others.add(other)
  }
  return { long, others }
}

async function insert(trx: Knex, table: string, rows: Record<string, unknown>[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 500) await trx(table).insert(rows.slice(at, at + 500))
}

/** What PostgreSQL does by itself within minutes, and what lets the first readers of SQLite not pay for the checkpoint. */
async function settle(db: Knex, url: string): Promise<void> {
  if (isPostgres(url)) await db.raw('VACUUM ANALYZE')
  else await db.raw('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Has the form of a UUIDv7, and sorts by its number as those of the daemon do by their time. */
function idOf(kind: string, n: number): string {
  const time = (0x0190_0000_0000 + n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${kind}00-8000-000000000000`
}

function timeOf(n: number): string {
  return new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString()
}
