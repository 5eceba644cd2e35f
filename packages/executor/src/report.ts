import type { TaskPatch } from '@stoa/core/schema/tasks'
import type { Ended, StopReason } from './drivers/driver.js'
import { GRACE_MS, type GroupEnd } from './process-group.js'

export type FinalStatus = 'completed' | 'failed' | 'timed_out' | 'stopped'
export type Report = TaskPatch & { status: FinalStatus; because: string }

/** What the daemon is told about how the work ended. */
export function reportOf(ended: Exclude<Ended, { how: 'lost' }>): Report {
  switch (ended.how) {
    case 'exit': {
      const because = `The command ended with exit code ${ended.exitCode}.`
      if (ended.exitCode === 0) return { status: 'completed', exit_code: 0, because }
      return { status: 'failed', exit_code: ended.exitCode, error: { code: 'exit_nonzero', message: because }, because }
    }
    case 'signal':
      return failedWith('signal', `The command was ended by ${ended.signal}.`)
    case 'timeout':
      return failedWith('timed_out', `The command was ended after its time limit of ${ended.seconds} s.`, 'timed_out')
    case 'not_started':
      return failedWith('not_started', `The shell could not be started (${ended.reason}).`)
    case 'stop':
      return stoppedReport(ended.asked, GROUP_ENDS[ended.group])
  }
}

/** `what` became of the command, as a sentence. */
export function stoppedReport(asked: StopReason, what: string): Report {
  const because = `${asked === 'person' ? 'Asked to stop.' : 'The executor was told to stop.'} ${what}`
  return { status: 'stopped', exit_code: null, because }
}

export function failedWith(code: string, message: string, status: FinalStatus = 'failed'): Report {
  return { status, exit_code: null, error: { code, message }, because: message }
}

const GROUP_ENDS: Record<GroupEnd, string> = {
  ended: 'The command ended on SIGTERM.',
  killed: `The command did not end on SIGTERM within ${GRACE_MS / 1000} s and was ended by SIGKILL.`,
  left: 'The command ended neither on SIGTERM nor on SIGKILL: something of it may still run.'
}
