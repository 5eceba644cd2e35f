import type { TaskId } from '@stoa/core/ids'
import { createApiClient, type ApiClient } from './api-client.js'
import type { Credential } from './environment.js'
import { ExecutorError } from './executor-error.js'

export interface TaskApi {
  /** With the token of the task: all work is done with this. */
  api: ApiClient
  /** With the person's own credential, where there is one. It outlives the task, at whose end the token dies. */
  person: ApiClient | null
  /** What must not be seen in the output. */
  secrets: string[]
}

/** A key can do all that its person can; what runs the task gets only what one task needs. */
export async function openTaskApi(daemon: string, credential: Credential, taskId: TaskId): Promise<TaskApi> {
  const { kind, secret } = credential
  if (kind === 'task_token') return { api: createApiClient(daemon, secret), person: null, secrets: [secret] }
  const person = createApiClient(daemon, secret)
  const { token } = await person.post(`/tasks/${taskId}/token`, {})
  if (typeof token !== 'string') throw new ExecutorError('The daemon gave no token for the task.')
  return { api: createApiClient(daemon, token), person, secrets: [secret, token] }
}
