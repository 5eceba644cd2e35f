import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { TaskId } from '@stoa/core/ids'
import type { Task } from '@stoa/core/schema/tasks'
import type { Worktree } from '@stoa/core/schema/worktrees'
import { startTask } from './start-task.js'
import { commandEnvironment, gitEnvironment } from './environment.js'
import { ExecutorError, RefusedError } from './executor-error.js'
import { readGitHead, readGitState } from './git-state.js'
import { readSession, readTask, readWorktree } from './records.js'
import { reportOf, type Report } from './report.js'
import { runCommand } from './run-command.js'
import type { TaskApi } from './task-api.js'

export interface Run {
  taskId: TaskId
  directory: string | null
  timeoutMs: number | null
  environment: NodeJS.ProcessEnv
  stop: AbortSignal
}

/**
 * Runs one task: reads it, reports `running`, runs its prompt, appends the output to the transcript, reports the end.
 * The command runs only after the daemon has accepted the report that it does.
 */
export async function runTask({ api, person }: TaskApi, run: Run): Promise<Report> {
  const task = await readTask(api, run.taskId)
  const session = await readSession(api, task.session_id)
  const directory = await workingDirectory(await readWorktree(api, session.worktree_id), run.directory)
  if (run.stop.aborted) throw new ExecutorError('Told to stop before the task was started; it stays as it was.')
  await startTask(api, task)

  const git = gitEnvironment(run.environment)
  const start = await readGitHead(directory, git)
  const environment = commandEnvironment(run.environment, task)
  const { ended, output } = await runCommand({
    script: task.prompt,
    directory,
    environment,
    timeoutMs: run.timeoutMs,
    stop: run.stop
  })
  const report: Report = { ...reportOf(ended), git_state: await readGitState(directory, git, start) }

  // The output first: the token ends with the task. If it cannot be stored the end is reported all the same, because a
  // task that stays `running` for ever is worse than one without its output.
  const problem = await appendOutput({ api, person }, task, output)
  if (problem) report.because += ' Its output could not be stored.'
  await reportEnd({ api, person }, task, report)
  if (problem) throw problem
  return report
}

async function workingDirectory(worktree: Worktree, given: string | null): Promise<string> {
  if (worktree.path !== null && given !== null && resolve(worktree.path) !== given) {
    throw new ExecutorError(`The worktree has a directory of its own, ${worktree.path}: leave out --dir.`)
  }
  const directory = worktree.path ?? given
  if (directory === null) {
    throw new ExecutorError('The worktree is a record without a directory: say with --dir where the task is to run.')
  }
  const isDirectory = await stat(directory).then(
    (found) => found.isDirectory(),
    () => false
  )
  if (!isDirectory) throw new ExecutorError(`The directory ${directory} is not there on this machine.`)
  return directory
}

async function appendOutput({ api }: TaskApi, task: Task, output: string): Promise<ExecutorError | null> {
  const message = {
    session_id: task.session_id,
    task_id: task.task_id,
    role: 'assistant',
    content: output,
    client_message_id: `executor:${task.task_id}:output`
  }
  try {
    await api.post('/messages', message)
    return null
  } catch (error) {
    if (error instanceof ExecutorError) return error
    throw error
  }
}

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
