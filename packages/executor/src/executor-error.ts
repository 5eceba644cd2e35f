/** Something that the person who started the executor has to read: the message is printed, a stack is not. */
export class ExecutorError extends Error {
  override readonly name: string = 'ExecutorError'
}

/** The daemon's final answer to a request: asking again would give the same one. */
export class RefusedError extends ExecutorError {
  override readonly name = 'RefusedError'

  constructor(
    readonly request: string,
    readonly status: number,
    /** `data.code` of the answer, from the catalogue. */
    readonly code: string,
    message: string,
    /** More than one: an earlier try may have been carried out although its answer was lost. */
    readonly tries: number
  ) {
    super(`${request} was refused (${status} ${code}): ${message}`)
  }
}
