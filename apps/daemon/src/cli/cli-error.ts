/** Something that the person at the command line has to read: the message is printed, a stack is not. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: number = 1
}

/** The command line itself, or a setting, is wrong: nothing was asked. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'
  override readonly exitCode = 2
}
