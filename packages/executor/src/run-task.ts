import type { TaskId } from '@stoa/core/ids'
import type { Task } from '@stoa/core/schema/tasks'
import { findDriver } from './drivers/find-driver.js'
import { ExecutorError, RefusedError } from './executor-error.js'
import { agentMissing, performTask } from './perform-task.js'
import { readSession, readTask, readWorktree } from './records.js'
import type { Report } from './report.js'
import { startTask } from './start-task.js'
import type { TaskApi } from './task-api.js'
import { refuseOtherDirectory, workingDirectory } from './working-directory.js'

export interface Run {
  taskId: TaskId
  directory: string | null
  timeoutMs: number | null
  environment: NodeJS.ProcessEnv
  stop: AbortSignal
}

/**
 * Runs one task without a lease: reads it, reports `running`, runs its prompt, appends the output to the transcript,
 * reports the end. The command runs only after the daemon has accepted the report that it does.
 */
export async function runTask(access: TaskApi, run: Run): Promise<Report> {
  const { api, secrets } = access
  const task = await readTask(api, run.taskId)
  const session = await readSession(api, task.session_id)
  const worktree = await readWorktree(api, session.worktree_id)
  refuseOtherDirectory(worktree, run.directory)
  const directory = await workingDirectory(worktree, run.directory)
  if (run.stop.aborted) throw new ExecutorError('Told to stop before the task was started; it stays as it was.')
  await startTask(api, task)

  const driver = findDriver(task.agent)
  if (!driver) {
    const report = agentMissing(task.agent)
    await reportEnd(access, task, report)
    return report
  }
  const outputId = `executor:${task.task_id}:output`
  const performed = await performTask({ ...run, api, task, driver, directory, lost: NEVER, outputId, secrets })
  if (!performed) throw new ExecutorError('The task was lost without a lease that could be.')
  await reportEnd(access, task, performed.report)
  if (performed.problem) throw performed.problem
  return performed.report
}

const NEVER = new AbortController().signal

async function reportEnd({ api, person }: TaskApi, task: Task, report: Report): Promise<void> {
  try {
    await api.patch(`/tasks/${task.task_id}`, report)
  } catch (error) {
    // The token dies with the task. A repeated report that meets a dead token has most likely arrived the first time,
    // only its answer was lost; the person's credential can still look.
    if (!(error instanceof RefusedError && error.status === 401 && error.tries > 1 && person)) throw error
    if ((await readTask(person, task.task_id)).status !== report.status) throw error
  }
}
