import type { SessionId, TaskId, WorktreeId } from '@stoa/core/ids'
import { isId } from '@stoa/core/ids'
import type { Session } from '@stoa/core/schema/sessions'
import type { Task } from '@stoa/core/schema/tasks'
import type { Worktree } from '@stoa/core/schema/worktrees'
import type { ApiClient } from './api-client.js'
import { ExecutorError } from './executor-error.js'

export async function readTask(api: ApiClient, taskId: TaskId): Promise<Task> {
  const task = (await read(api, 'tasks', 'task_id', taskId)) as Task
  if (typeof task.prompt !== 'string' || !isId(task.session_id)) throw notARecord('tasks', taskId)
  return task
}

export async function readSession(api: ApiClient, sessionId: SessionId): Promise<Session> {
  const session = (await read(api, 'sessions', 'session_id', sessionId)) as Session
  if (!isId(session.worktree_id)) throw notARecord('sessions', sessionId)
  return session
}

export async function readWorktree(api: ApiClient, worktreeId: WorktreeId): Promise<Worktree> {
  const worktree = (await read(api, 'worktrees', 'worktree_id', worktreeId)) as Worktree
  if (worktree.path !== null && typeof worktree.path !== 'string') throw notARecord('worktrees', worktreeId)
  return worktree
}

/** Only what is used is checked: an older executor must get on with a daemon whose records have grown. */
async function read(api: ApiClient, service: string, idField: string, id: string): Promise<unknown> {
  const record = await api.get(`/${service}/${id}`)
  if (record[idField] !== id) throw notARecord(service, id)
  return record
}

function notARecord(service: string, id: string): ExecutorError {
  return new ExecutorError(`The answer to GET /${service}/${id} is not that record: is --daemon the URL of a Stoa daemon?`)
}
