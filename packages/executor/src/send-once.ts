export type Json = Record<string, unknown>

export interface Request {
  daemon: string
  credential: string
  method: 'GET' | 'POST' | 'PATCH'
  /** Begins with a slash and holds only ids that were checked or encoded. */
  path: string
  body?: Json | undefined
  headers?: Record<string, string> | undefined
  timeoutMs?: number
  signal?: AbortSignal | undefined
}

export type Answer =
  /** Without a body (204) it is the empty object. `at`: when, by the daemon's clock, in whole seconds. */
  | { kind: 'done'; status: number; body: Json; at: string | null }
  | { kind: 'refused'; status: number; code: string; message: string }
  | { kind: 'again'; reason: string }

const REQUEST_TIMEOUT_MS = 30_000

/** 503 is the daemon's "nothing was changed, try again"; the other two come from a proxy that did not reach it. */
const TRY_AGAIN = [502, 503, 504]

/** One request, whatever becomes of it; who retries, and for how long, is the caller's business. */
export async function sendOnce(request: Request): Promise<Answer> {
  const { daemon, credential, method, path, body, headers, timeoutMs = REQUEST_TIMEOUT_MS, signal } = request
  const timeout = AbortSignal.timeout(timeoutMs)
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
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout
    })
    text = await response.text()
  } catch (error) {
    return { kind: 'again', reason: reasonOf(error) }
  }
  const json = response.status === 204 ? {} : parseObject(text)
  if (response.ok && json) return { kind: 'done', status: response.status, body: json, at: response.headers.get('date') }
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
