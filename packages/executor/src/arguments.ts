import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isId, type TaskId } from '@stoa/core/ids'
import { ExecutorError } from './executor-error.js'

export interface Arguments {
  /** Without a slash at the end. */
  daemon: string
  taskId: TaskId
  directory: string | null
  timeoutMs: number | null
}

export const HELP = `stoa-executor --daemon URL --task TASK_ID [--dir DIR] [--timeout SECONDS]

Runs the prompt of one task as a shell command in the directory of its worktree, and reports to the daemon.

  --daemon URL       the daemon, such as http://127.0.0.1:4747
  --task TASK_ID     the task to run; it must be queued
  --dir DIR          where to run it, when the worktree is a record without a directory
  --timeout SECONDS  ends the command after this long; without it there is no limit
  --help             this text

The credential comes from the environment, one of:
  STOA_KEY           an API key (stoa_pat_…) or an access token; exchanged for a token of the task
  STOA_TASK_TOKEN    a token of the task (stoa_task_…)

Exit code: 0 the task completed, 2 the command failed, timed out or was stopped, 1 the executor could not do its work.
`

export function parseArguments(argv: string[]): Arguments | 'help' {
  const values = parse(argv)
  if (values.help) return 'help'
  return {
    daemon: daemonUrl(values.daemon),
    taskId: taskId(values.task),
    directory: values.dir === undefined ? null : resolve(values.dir),
    timeoutMs: values.timeout === undefined ? null : milliseconds(values.timeout)
  }
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        daemon: { type: 'string' },
        task: { type: 'string' },
        dir: { type: 'string' },
        timeout: { type: 'string' },
        help: { type: 'boolean', short: 'h' }
      }
    }).values
  } catch (error) {
    throw new ExecutorError(`${error instanceof Error ? error.message : String(error)}\nSee stoa-executor --help.`)
  }
}

function daemonUrl(given: string | undefined): string {
  if (given === undefined) throw new ExecutorError('--daemon is missing: give the URL of the daemon.')
  const url = URL.canParse(given) ? new URL(given) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new ExecutorError('--daemon is not a URL that starts with http:// or https://.')
  }
  // A command line can be read by everyone on the machine.
  if (url.username || url.password || url.search || url.hash) {
    throw new ExecutorError('--daemon has more than an address and a path; credentials come from the environment.')
  }
  return url.href.replace(/\/+$/, '')
}

function taskId(given: string | undefined): TaskId {
  if (given === undefined) throw new ExecutorError('--task is missing: give the id of the task.')
  if (!isId(given)) throw new ExecutorError('--task is not a task id (a UUIDv7 in lower case).')
  return given as TaskId
}

/** A longer timer than Node's longest would fire at once. */
const LONGEST_TIMER_S = Math.floor(0x7fffffff / 1000)

function milliseconds(given: string): number {
  const seconds = Number(given)
  if (!(given.trim() !== '' && seconds > 0 && seconds <= LONGEST_TIMER_S)) {
    throw new ExecutorError(`--timeout must be a number of seconds above 0 and at most ${LONGEST_TIMER_S}.`)
  }
  return Math.ceil(seconds * 1000)
}
