import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isId, type TaskId } from '@stoa/core/ids'
import { KNOWN_AGENTS } from './drivers/find-driver.js'
import { ExecutorError } from './executor-error.js'

interface Common {
  /** Without a slash at the end. */
  daemon: string
  directory: string | null
  timeoutMs: number | null
}

export interface TaskArguments extends Common {
  mode: 'task'
  taskId: TaskId
}

export interface WorkerArguments extends Common {
  mode: 'worker'
  name: string
  agents: string[]
  once: boolean
}

export function parseArguments(argv: string[]): TaskArguments | WorkerArguments | 'help' {
  const values = parse(argv)
  if (values.help) return 'help'
  const common: Common = {
    daemon: daemonUrl(values.daemon),
    directory: values.dir === undefined ? null : resolve(values.dir),
    timeoutMs: values.timeout === undefined ? null : milliseconds(values.timeout)
  }
  if (values.task === undefined) {
    const once = values.once ?? false
    return { mode: 'worker', ...common, name: executorName(values.name), agents: agentList(values.agents), once }
  }
  if (values.name !== undefined || values.agents !== undefined || values.once) {
    throw new ExecutorError('--name, --agents and --once are for an executor that takes tasks: leave them out with --task.')
  }
  return { mode: 'task', ...common, taskId: taskId(values.task) }
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        daemon: { type: 'string' },
        task: { type: 'string' },
        name: { type: 'string' },
        agents: { type: 'string' },
        once: { type: 'boolean' },
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

function taskId(given: string): TaskId {
  if (!isId(given)) throw new ExecutorError('--task is not a task id (a UUIDv7 in lower case).')
  return given as TaskId
}

function executorName(given: string | undefined): string {
  const name = (given ?? hostname()).trim()
  if (name === '' || name.length > 200) throw new ExecutorError('--name must have 1 to 200 characters.')
  return name
}

function agentList(given: string | undefined): string[] {
  if (given === undefined) return [...KNOWN_AGENTS]
  const agents = given.split(',').map((agent) => agent.trim())
  if (agents.includes('')) throw new ExecutorError('--agents has an empty name: give them as in shell,other.')
  return [...new Set(agents)]
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
