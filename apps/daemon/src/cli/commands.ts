import type { Command } from './command.js'
import { help } from './commands/help.js'
import { sweep } from './commands/sweep.js'

const tasks: Command[] = [sweep]

/** All that `stoa` can do. */
export const commands: Command[] = [...tasks, help(tasks)]
