import { join } from 'node:path'
import { pino, type Logger } from 'pino'
import type { Config } from './config.js'

/** One line per request in `STOA_HOME/logs/stoa.log`; warnings and errors are also on stderr, where an operator looks first. */
export function makeLogger({ home, logLevel }: Config): Logger {
  if (logLevel === 'silent') return pino({ level: 'silent' })
  const file = pino.destination({ dest: join(home, 'logs', 'stoa.log'), sync: false, minLength: 0 })
  const level = logLevel as 'debug' | 'info' | 'warn' | 'error'
  return pino({ level, base: { pid: process.pid } }, pino.multistream([{ level, stream: file }, { level: 'warn', stream: pino.destination({ dest: 2, sync: true }) }]))
}
