import type { SessionId, TaskId } from '@stoa/core/ids'
import { ExecutorError } from './executor-error.js'

export type Environment = Record<string, string>

export type Credential = { kind: 'key'; secret: string } | { kind: 'task_token'; secret: string }

/** Takes the credential out of the environment, so that nothing started later can inherit it by accident. */
export function takeCredential(environment: NodeJS.ProcessEnv): Credential {
  const key = environment['STOA_KEY']
  const token = environment['STOA_TASK_TOKEN']
  delete environment['STOA_KEY']
  delete environment['STOA_TASK_TOKEN']
  if (key && token) throw new ExecutorError('STOA_KEY and STOA_TASK_TOKEN are both set: set one of them.')
  if (key) return { kind: 'key', secret: usable('STOA_KEY', key) }
  if (token) return { kind: 'task_token', secret: usable('STOA_TASK_TOKEN', token) }
  throw new ExecutorError('There is no credential: set STOA_KEY (an API key) or STOA_TASK_TOKEN in the environment.')
}

/** Taking tasks is for keys: a token of a task is good for that one only. */
export function takeKey(environment: NodeJS.ProcessEnv): string {
  const { kind, secret } = takeCredential(environment)
  if (kind === 'key') return secret
  throw new ExecutorError('A token of a task is good for that task only: give it with --task, or set STOA_KEY to take tasks.')
}

/**
 * What the command sees. A list of what may pass and not of what may not: a secret that somebody adds to the
 * executor's environment tomorrow stays out without anybody thinking of it.
 */
export function commandEnvironment(
  environment: NodeJS.ProcessEnv,
  task: { task_id: TaskId; session_id: SessionId }
): Environment {
  return { ...passable(environment), STOA_TASK_ID: task.task_id, STOA_SESSION_ID: task.session_id }
}

/** For the git that the executor itself runs: it must neither ask anybody nor write to the index meanwhile. */
export function gitEnvironment(environment: NodeJS.ProcessEnv): Environment {
  return { ...passable(environment), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' }
}

const PASSED = new Set(['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR'])

function passable(environment: NodeJS.ProcessEnv): Environment {
  const passed = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && (PASSED.has(entry[0]) || entry[0].startsWith('LC_'))
  )
  return Object.fromEntries(passed)
}

/** Checked here because `fetch` would put the whole header, and so the secret, into its own error message. */
function usable(name: string, secret: string): string {
  if (/^[\x21-\x7e]+$/.test(secret)) return secret
  throw new ExecutorError(`${name} has a space, a line break or a character outside ASCII: it is not a credential.`)
}
