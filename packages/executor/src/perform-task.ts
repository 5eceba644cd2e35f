import type { Task } from '@stoa/core/schema/tasks'
import type { ApiClient } from './api-client.js'
import type { Driver, Work } from './drivers/driver.js'
import { KNOWN_AGENTS } from './drivers/find-driver.js'
import { commandEnvironment, gitEnvironment } from './environment.js'
import { ExecutorError } from './executor-error.js'
import { readGitHead, readGitState } from './git-state.js'
import { failedWith, reportOf, type Report } from './report.js'

export interface Performance extends Omit<Work, 'prompt' | 'environment'> {
  api: ApiClient
  task: Task
  driver: Driver
  environment: NodeJS.ProcessEnv
  /** `client_message_id` of the output, so that it is stored once however often it is sent. */
  outputId: string
  /** The command can find these in the memory of the executor, whose user it has; the transcript is for others to read. */
  secrets: string[]
}

export interface Performed {
  /** What is to be reported as the end of the task. */
  report: Report
  /** Why the output could not be stored. */
  problem: ExecutorError | null
}

/**
 * Runs a task that the daemon knows to be running, and appends its output to the transcript; the report of the end is
 * left to the caller. Null: the task was lost meanwhile, and nothing more may be said about it.
 */
export async function performTask(work: Performance): Promise<Performed | null> {
  const { api, task, driver, directory, timeoutMs, stop, lost } = work
  const git = gitEnvironment(work.environment)
  const start = await readGitHead(directory, git)
  const environment = commandEnvironment(work.environment, task)
  const { ended, output } = await driver.run({ prompt: task.prompt, directory, environment, timeoutMs, stop, lost })
  if (ended.how === 'lost' || lost.aborted) return null
  const report: Report = { ...reportOf(ended), git_state: await readGitState(directory, git, start) }

  // The output first: the token ends with the task. If it cannot be stored the end is reported all the same, because a
  // task that stays `running` for ever is worse than one without its output.
  const problem = await appendOutput(api, task, work.outputId, without(work.secrets, output))
  if (problem) report.because += ' Its output could not be stored.'
  return { report, problem }
}

export function agentMissing(agent: string | null): Report {
  return failedWith(
    'agent_missing',
    `This executor has no driver for the agent ${JSON.stringify(agent)}, only for: ${KNOWN_AGENTS.join(', ')}. ` +
      'Make the task again with one of these, or with no agent for a shell command.'
  )
}

async function appendOutput(api: ApiClient, task: Task, outputId: string, content: string): Promise<ExecutorError | null> {
  const { session_id, task_id } = task
  try {
    await api.post('/messages', { session_id, task_id, role: 'assistant', content, client_message_id: outputId })
    return null
  } catch (error) {
    if (error instanceof ExecutorError) return error
    throw error
  }
}

function without(secrets: string[], output: string): string {
  return secrets.reduce((text, secret) => text.replaceAll(secret, '[a credential was here]'), output)
}
