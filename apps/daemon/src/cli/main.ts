#!/usr/bin/env node
import { SettingError } from '../config.js'
import { CliError, UsageError } from './cli-error.js'
import { commands } from './commands.js'

process.exitCode = await main(process.argv.slice(2))

/** The exit code: 0 done, 1 refused or failed, 2 called in the wrong way. */
async function main([given = 'help', ...args]: string[]): Promise<number> {
  try {
    const name = given === '--help' || given === '-h' ? 'help' : given
    const command = commands.find((candidate) => candidate.name === name)
    if (!command) throw new UsageError(`There is no command ${name}. See stoa help.`)
    await command.run(args, (text) => void process.stdout.write(text))
    return 0
  } catch (error) {
    if (!(error instanceof CliError) && !(error instanceof SettingError)) throw error
    process.stderr.write(`stoa: ${error.message}\n`)
    return error instanceof CliError ? error.exitCode : 2
  }
}
