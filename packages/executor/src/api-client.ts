import { ExecutorError, RefusedError } from './executor-error.js'
import { growingMs, pause } from './pause.js'
import { sendOnce, type Json, type Request } from './send-once.js'

export type { Json } from './send-once.js'

/** Speaks to the daemon with one credential. Paths begin with a slash and hold only ids that were checked or encoded. */
export interface ApiClient {
  get(path: string): Promise<Json>
  post(path: string, body: Json): Promise<Json>
  patch(path: string, body: Json, headers?: Record<string, string>): Promise<Json>
}

/** With `until` a daemon that is away is tried until that is aborted, without it for as long as a restart takes. */
export function createApiClient(daemon: string, credential: string, until?: AbortSignal): ApiClient {
  const send = (method: Request['method'], path: string, body?: Json, headers?: Record<string, string>): Promise<Json> =>
    sendWithRetries({ method, path, body, headers, daemon, credential, signal: until })
  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    patch: (path, body, headers) => send('PATCH', path, body, headers)
  }
}

/** 18 s in all: longer than a restart of the daemon, shorter than a person's patience. */
const MOST_TRIES = 8

/** All that is sent may be sent twice: a repeated report or message changes nothing. */
async function sendWithRetries(request: Request): Promise<Json> {
  const name = `${request.method} ${request.path}`
  for (let tries = 1; ; tries++) {
    const answer = await sendOnce(request)
    if (answer.kind === 'done') return answer.body
    if (answer.kind === 'refused') throw new RefusedError(name, answer.status, answer.code, answer.message, tries)
    const enough = request.signal ? request.signal.aborted : tries === MOST_TRIES
    if (enough) throw new ExecutorError(`${name} got no answer in ${tries} tries: ${answer.reason}`)
    await pause(growingMs(tries), request.signal)
  }
}
