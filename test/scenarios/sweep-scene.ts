import { randomBytes } from 'node:crypto'
import type { SweepReport } from '@stoa/core/schema/sweeps'
import { absentId } from '../support/doors.js'
import type { Settings } from '../support/daemon-process.js'
import { rows, type StoreKind } from '../support/stores.js'
import { buildWorld, made, type Person } from '../support/world.js'

/** The guard of the daemons here, in seconds: an hour, so that nothing gets old by itself. */
export const GUARD = 3600
export const NONE_KEPT: SweepReport['kept'] = { young: 0, pinned: 0, with_children: 0, in_changed_worktree: 0 }

export type SweepScene = Awaited<ReturnType<typeof setTheScene>>

/** A daemon with a look underneath, and Alice with a worktree whose sessions get as old as a test wants them. */
export async function setTheScene(kind: StoreKind, env: Settings = {}) {
  const store = await kind.make()
  const daemon = await store.start({ STOA_EMPTY_SESSION_GUARD_S: String(GUARD), ...env })
  const world = await buildWorld(daemon.url)
  const alice = await world.user('alice')
  const underneath = store.connect()
  const run = (sql: string, ...params: (string | number)[]) => rows(underneath, sql, params)

  /** As if it had been changed for the last time that many seconds ago. */
  const age = async (session_id: string, seconds: number): Promise<void> => {
    const then = new Date(Date.now() - seconds * 1000).toISOString()
    await run('UPDATE sessions SET updated_at = ? WHERE session_id = ?', then, session_id)
  }

  return {
    store,
    daemon,
    world,
    alice,
    run,
    age,
    sweep: async (dry_run: boolean, by: Person = world.root): Promise<SweepReport> =>
      (await made(by.rest.post('/sweeps', { dry_run }))) as unknown as SweepReport,

    /** A session without anything in it, far older than the guard unless told. */
    empty: async (worktree_id: string, seconds = GUARD * 100): Promise<string> => {
      const session_id = await world.session(alice, worktree_id)
      await age(session_id, seconds)
      return session_id
    },

    /** Many of them at once, written underneath. */
    manyEmpty: async (worktree_id: string, count: number): Promise<string[]> => {
      const ids = Array.from({ length: count }, absentId)
      const long = new Date(Date.now() - GUARD * 100_000).toISOString()
      for (let at = 0; at < count; at += 100) {
        const part = ids.slice(at, at + 100)
        const values = part.map((id) => `('${id}', '${worktree_id}', '${alice.user_id}', '${long}', '${long}')`).join(', ')
        await run(`INSERT INTO sessions (session_id, worktree_id, created_by, created_at, updated_at) VALUES ${values}`)
      }
      return ids.sort()
    },

    /** The ids of all sessions that there are, whoever may see them. */
    sessions: async (): Promise<string[]> =>
      (await run('SELECT session_id FROM sessions ORDER BY session_id')).map(({ session_id }) => String(session_id)),

    /** The statement that puts a task, or a message, into a session, for whoever holds a transaction open. */
    insertOf: (what: 'task' | 'message', session_id: string): string => {
      const now = new Date().toISOString()
      return what === 'task'
        ? `INSERT INTO tasks (task_id, session_id, prompt, status, created_at, updated_at)
           VALUES ('${absentId()}', '${session_id}', 'held', 'queued', '${now}', '${now}')`
        : `INSERT INTO messages (message_id, session_id, seq, role, content, created_at, updated_at)
           VALUES ('${absentId()}', '${session_id}', 1, 'user', '"${randomBytes(4).toString('hex')}"', '${now}', '${now}')`
    }
  }
}
