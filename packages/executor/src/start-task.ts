import { randomUUID } from 'node:crypto'
import type { Task } from '@stoa/core/schema/tasks'
import type { ApiClient } from './api-client.js'
import { ExecutorError, RefusedError } from './executor-error.js'
import { readTask } from './records.js'

/**
 * Reports `running`, and returns only if it was this executor that made the task run.
 *
 * Repeating a report is allowed, so of two executors that both saw the task queued both would be told that it runs, and
 * the command would run twice. Hence the condition on the version, and the mark: when the answer to our own report is
 * lost and the repeated one meets a newer version, the mark tells whether that version is ours.
 */
export async function startTask(api: ApiClient, seen: Task): Promise<void> {
  const mark = `Started by executor ${randomUUID()}.`
  let task = seen
  for (let round = 0; round < 5; round++) {
    if (task.because === mark) return
    if (task.status !== 'queued' && task.status !== 'dispatching') {
      throw new ExecutorError(`The task is ${task.status}: only a queued one can be started.`)
    }
    try {
      await api.patch(`/tasks/${task.task_id}`, { status: 'running', because: mark }, { 'if-match': `"${task.version}"` })
      return
    } catch (error) {
      if (!(error instanceof RefusedError && error.status === 412)) throw error
    }
    task = await readTask(api, task.task_id)
  }
  throw new ExecutorError('The task kept changing while it was being started.')
}
