import { randomUUID } from 'node:crypto'
import { PROMPT, SESSIONS, TASKS, type World } from '../world.js'

const ids = (count: number) => Array.from({ length: count }, () => randomUUID())

/** Ids to ask for; the servers that answer with a constant know none of them. */
export const nowhere: Omit<World, 'url'> = { token: null, stranger: null, sessions: ids(SESSIONS), tasks: ids(TASKS) }

/** A task as the daemon answers it, so that the same number of bytes is sent. */
export const constantTask = {
  task_id: nowhere.tasks[0],
  session_id: nowhere.sessions[0],
  client_task_id: null,
  prompt: PROMPT,
  agent: null,
  requested_model: null,
  effective_model: null,
  observed_model: null,
  status: 'queued',
  attempt: 0,
  executor_id: null,
  git_state: null,
  usage: null,
  exit_code: null,
  error: null,
  because: 'reason 1',
  started_at: null,
  completed_at: null,
  version: 2,
  created_at: '2026-01-01T00:00:00.000Z',
  created_by: nowhere.tasks[1],
  updated_at: '2026-01-01T00:00:00.000Z',
  queue_position: 1
}
