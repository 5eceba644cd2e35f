import { UsageError } from '../cli-error.js'
import type { Command } from '../command.js'

/** `stoa help` lists the commands, `stoa help COMMAND` explains one. */
export function help(others: Command[]): Command {
  const list = others.map(({ name, summary }) => `  ${name.padEnd(8)} ${summary}\n`).join('')
  const text = `stoa COMMAND [OPTIONS]

${list}  help     this text; \`stoa help COMMAND\` explains one

Exit code: 0 it is done, 1 the daemon refused or could not be reached, 2 the command line or a setting is wrong.
`
  return {
    name: 'help',
    summary: 'what the commands are',
    help: text,
    async run([about], say) {
      const command = about === undefined ? null : others.find(({ name }) => name === about)
      if (command === undefined) throw new UsageError(`There is no command ${about}. See stoa help.`)
      say(command?.help ?? text)
    }
  }
}
