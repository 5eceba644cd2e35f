import type { TaskPatch } from '@stoa/core/schema/tasks'
import type { Ended } from './run-command.js'

export type FinalStatus = 'completed' | 'failed' | 'timed_out' | 'stopped'
export type Report = TaskPatch & { status: FinalStatus; because: string }

/** What the daemon is told about how the command ended. */
export function reportOf(ended: Ended): Report {
  switch (ended.how) {
    case 'exit': {
      const because = `The command ended with exit code ${ended.exitCode}.`
      if (ended.exitCode === 0) return { status: 'completed', exit_code: 0, because }
      return { status: 'failed', exit_code: ended.exitCode, error: { code: 'exit_nonzero', message: because }, because }
    }
    case 'signal':
      return failed('failed', 'signal', `The command was ended by ${ended.signal}.`)
    case 'timeout':
      return failed('timed_out', 'timed_out', `The command was ended after its time limit of ${ended.seconds} s.`)
    case 'not_started':
      return failed('failed', 'not_started', `The shell could not be started (${ended.reason}).`)
    case 'stop':
      return { status: 'stopped', exit_code: null, because: 'The executor was told to stop.' }
  }
}

function failed(status: FinalStatus, code: string, message: string): Report {
  return { status, exit_code: null, error: { code, message }, because: message }
}
