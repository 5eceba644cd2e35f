import type { Task } from '@stoa/core/schema/tasks'
import { createApiClient, type ApiClient } from './api-client.js'
import { findDriver } from './drivers/find-driver.js'
import { ExecutorError, RefusedError } from './executor-error.js'
import { keepLease, type KeptLease } from './keep-lease.js'
import type { Lease } from './lease.js'
import { agentMissing, performTask } from './perform-task.js'
import { failedWith, stoppedReport, type Report } from './report.js'
import { workingDirectory } from './working-directory.js'

export interface Holder {
  daemon: string
  key: string
  name: string
  directory: string | null
  timeoutMs: number | null
  environment: NodeJS.ProcessEnv
}

/** Runs a task while its lease lives, and says in a line what became of it. The lease is over when this resolves. */
export async function runLease(holder: Holder, lease: Lease, stop: AbortSignal): Promise<string> {
  const { task_id } = lease.task
  const kept = keepLease(holder, lease)
  try {
    const report = await runAndReport(holder, lease, kept, stop)
    return report ? `task ${task_id} ${report.status}: ${report.because}` : lostLine(task_id, kept.lost.reason)
  } catch (error) {
    if (!(error instanceof ExecutorError)) throw error
    return lostLine(task_id, kept.lost.aborted ? kept.lost.reason : error.message)
  } finally {
    kept.release()
  }
}

/** Null: lost on the way. */
async function runAndReport(holder: Holder, lease: Lease, kept: KeptLease, stop: AbortSignal): Promise<Report | null> {
  const { task, worktree, attempt, token } = lease
  const api = createApiClient(holder.daemon, token, kept.lost)
  const driver = findDriver(task.agent)
  if (!driver) return reportEnd(api, task, agentMissing(task.agent))
  let directory: string
  try {
    directory = await workingDirectory(worktree, holder.directory)
  } catch (error) {
    if (!(error instanceof ExecutorError)) throw error
    return reportEnd(api, task, failedWith('directory_missing', error.message))
  }
  if (!(await reportRunning(api, task, holder.name))) {
    return reportEnd(api, task, stoppedReport('person', 'The command was not started.'))
  }
  const performed = await performTask({
    ...holder,
    ...{ api, task, driver, directory },
    stop: AbortSignal.any([stop, kept.stopRequested]),
    lost: kept.lost,
    // What an earlier attempt has stored is another output.
    outputId: `executor:${task.task_id}:output:${attempt}`,
    secrets: [holder.key, token]
  })
  return performed && reportEnd(api, task, performed.report)
}

/** False: the task was asked to stop before it began. */
async function reportRunning(api: ApiClient, task: Task, name: string): Promise<boolean> {
  try {
    await api.patch(`/tasks/${task.task_id}`, { status: 'running', because: `Started by executor ${name}.` })
    return true
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'illegal_transition') return false
    throw error
  }
}

async function reportEnd(api: ApiClient, task: Task, report: Report): Promise<Report> {
  try {
    await api.patch(`/tasks/${task.task_id}`, report)
  } catch (error) {
    // The token dies with the task: a repeated report that meets a dead one has arrived, only its answer was lost.
    if (!(error instanceof RefusedError && error.status === 401 && error.tries > 1)) throw error
  }
  return report
}

function lostLine(taskId: string, why: unknown): string {
  return `task ${taskId} is no longer ours, and nothing more is reported: ${String(why)}`
}
