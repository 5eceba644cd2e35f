import { setTimeout as sleep } from 'node:timers/promises'
import { ExecutorError, RefusedError } from './executor-error.js'

export type Json = Record<string, unknown>

/** Speaks to the daemon with one credential. Paths begin with a slash and hold only ids that were checked or encoded. */
export interface ApiClient {
  get(path: string): Promise<Json>
  post(path: string, body: Json): Promise<Json>
  patch(path: string, body: Json, headers?: Record<string, string>): Promise<Json>
}

export function createApiClient(daemon: string, credential: string): ApiClient {
  const send = (method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<Json> =>
    sendWithRetries({ method, path, body, headers, daemon, credential })
  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    patch: (path, body, headers) => send('PATCH', path, body, headers)
  }
}

/** Waits between the tries, 18 s in all: longer than a restart of the daemon, shorter than a person's patience. */
const WAITS_MS = [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]
const REQUEST_TIMEOUT_MS = 30_000

/** 503 is the daemon's "nothing was changed, try again"; the other two come from a proxy that did not reach it. */
const TRY_AGAIN = [502, 503, 504]

interface Request {
  method: string
  path: string
  body: Json | undefined
  headers: Record<string, string> | undefined
  daemon: string
  credential: string
}

/** All that is sent may be sent twice: a repeated report or message changes nothing. */
async function sendWithRetries(request: Request): Promise<Json> {
  const name = `${request.method} ${request.path}`
  for (let tries = 1; ; tries++) {
    const answer = await sendOnce(request)
    if (answer.kind === 'done') return answer.body
    if (answer.kind === 'refused') throw new RefusedError(name, answer.status, answer.code, answer.message, tries)
    const wait = WAITS_MS[tries - 1]
    if (wait === undefined) throw new ExecutorError(`${name} got no answer in ${tries} tries: ${answer.reason}`)
    // Spread out, because a daemon that comes back meets all of its executors at once.
    await sleep(wait * (0.75 + Math.random() / 2))
  }
}

type Answer =
  | { kind: 'done'; body: Json }
  | { kind: 'refused'; status: number; code: string; message: string }
  | { kind: 'again'; reason: string }

async function sendOnce({ method, path, body, headers, daemon, credential }: Request): Promise<Answer> {
  let response: Response
  let text: string
  try {
    response = await fetch(daemon + path, {
      method,
      headers: {
        ...headers,
        accept: 'application/json',
        authorization: `Bearer ${credential}`,
        ...(body && { 'content-type': 'application/json' })
      },
      ...(body && { body: JSON.stringify(body) }),
      // A daemon never redirects; whoever does must not be handed the credential.
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    })
    text = await response.text()
  } catch (error) {
    return { kind: 'again', reason: reasonOf(error) }
  }
  const json = parseObject(text)
  if (response.ok && json) return { kind: 'done', body: json }
  const code = codeOf(json)
  const message = typeof json?.['message'] === 'string' ? json['message'] : 'the answer is not from a Stoa daemon.'
  if (TRY_AGAIN.includes(response.status)) return { kind: 'again', reason: `${response.status} ${code}: ${message}` }
  return { kind: 'refused', status: response.status, code, message }
}

function codeOf(json: Json | null): string {
  const data = json?.['data']
  const code = typeof data === 'object' && data !== null && 'code' in data ? data.code : undefined
  return typeof code === 'string' ? code : 'no code'
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
  } catch {
    // Not JSON: the status alone says what happened.
    return null
  }
}

/** `fetch` says only "fetch failed"; why is in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}
