import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { PROMPT, SESSIONS, TASKS } from '../world.js'

export interface Seeded {
  owner: string
  stranger: string
  sessions: string[]
  tasks: string[]
}

/** The records that the daemon is given through its API, here straight into the same tables. */
export async function seed(database: Knex): Promise<Seeded> {
  const [owner, stranger, worktree_id] = [randomUUID(), randomUUID(), randomUUID()]
  const now = new Date().toISOString()
  const stamps = { created_at: now, created_by: owner, updated_at: now }
  const user = (user_id: string, name: string) => ({
    user_id,
    email: `${name}@example.com`,
    name,
    role: 'member',
    password_hash: '-',
    ...stamps
  })
  const sessions = Array.from({ length: SESSIONS }, () => randomUUID())
  const tasks = Array.from({ length: TASKS }, (_, n) => ({
    task_id: randomUUID(),
    session_id: sessions[n % SESSIONS],
    prompt: PROMPT,
    status: 'queued',
    ...stamps
  }))

  await database('users').insert([user(owner, 'owner'), user(stranger, 'stranger')])
  await database('worktrees').insert({ worktree_id, name: 'a worktree', others_can: 'none', ...stamps })
  await database('grants').insert({
    grant_id: randomUUID(),
    worktree_id,
    user_id: owner,
    level: 'owner',
    granted_by: owner,
    ...stamps
  })
  await database('sessions').insert(sessions.map((session_id) => ({ session_id, worktree_id, title: 'a session', ...stamps })))
  await database('tasks').insert(tasks)
  return { owner, stranger, sessions, tasks: tasks.map(({ task_id }) => task_id) }
}
