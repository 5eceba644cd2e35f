import { join } from 'node:path'
import { pino, type Logger } from 'pino'
import type { Config } from './config.js'
import { openLogFile } from './log-file.js'

/** One line per request in `STOA_HOME/logs/stoa.log`; warnings and errors are also on stderr, where an operator looks first. */
export function makeLogger({ home, logLevel: level }: Config): Logger {
  if (level === 'silent') return pino({ level: 'silent' })
  const stderr = pino.destination({ dest: 2, sync: true })
  const file = openLogFile(join(home, 'logs', 'stoa.log'), ({ message }) => {
    stderr.write(`stoa cannot write its log: ${message}\n`)
  })
  const streams = pino.multistream([
    { level, stream: file },
    { level: 'warn', stream: stderr }
  ])
  return pino({ level, base: { pid: process.pid }, serializers: { err: describeError } }, streams)
}

/** Where it happened and its code. A driver puts what was typed into its message and its fields, so those stay out. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  const places = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? []
  return { name: error.name, code, ...(severity === undefined && { message: error.message }), stack: places.join('\n') }
}
