/** One command of `stoa`. */
export interface Command {
  name: string
  /** Its line in the help. */
  summary: string
  /** How it is called, and what its options are. */
  help: string
  run(args: string[], say: (text: string) => void): Promise<void>
}
