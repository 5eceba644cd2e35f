#!/usr/bin/env node
import { parseArguments, type TaskArguments, type WorkerArguments } from './arguments.js'
import { takeCredential, takeKey } from './environment.js'
import { ExecutorError } from './executor-error.js'
import { HELP } from './help.js'
import { runTask } from './run-task.js'
import { openTaskApi } from './task-api.js'
import { work } from './worker.js'

const COMPLETED = 0
const EXECUTOR_ERROR = 1
const COMMAND_FAILED = 2

process.exitCode = await main()

async function main(): Promise<number> {
  try {
    const given = parseArguments(process.argv.slice(2))
    if (given === 'help') {
      process.stdout.write(HELP)
      return COMPLETED
    }
    return given.mode === 'task' ? await runOne(given) : await takeTasks(given)
  } catch (error) {
    if (!(error instanceof ExecutorError)) throw error
    process.stderr.write(`stoa-executor: ${error.message}\n`)
    return EXECUTOR_ERROR
  }
}

async function runOne(given: TaskArguments): Promise<number> {
  const credential = takeCredential(process.env)
  const stop = stopOnSignals()
  const access = await openTaskApi(given.daemon, credential, given.taskId)
  const report = await runTask(access, { ...given, environment: process.env, stop })
  process.stdout.write(`task ${given.taskId} ${report.status}: ${report.because}\n`)
  return report.status === 'completed' ? COMPLETED : COMMAND_FAILED
}

async function takeTasks(given: WorkerArguments): Promise<number> {
  const key = takeKey(process.env)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  await work({ ...given, key, say, environment: process.env }, stopOnSignals())
  return COMPLETED
}

/** A second signal changes nothing: the first already ends the command within the grace, and its end is reported. */
function stopOnSignals(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort('executor'))
  return stop.signal
}
