import { runCommand } from '../run-command.js'
import type { Driver } from './driver.js'

/** The prompt is a shell script, and its output is the transcript. */
export const shell: Driver = {
  agent: 'shell',
  run: ({ prompt, ...work }) => runCommand({ script: prompt, ...work })
}
