export type Body = Record<string, unknown>

export interface Answer {
  status: number
  body: Body
  headers: Headers
}

/** One way to call a service: the same verbs over REST and over a socket. */
export interface Door {
  transport: 'rest' | 'socketio'
  call(service: string, method: string, ...args: unknown[]): Promise<Answer>
  close(): void
}

export interface Client extends Door {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  del(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

/** A REST client over fetch, which keeps its connections alive by itself. */
export function client(url: string, token?: string): Client {
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers
      },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    return { status: response.status, body: parse(await response.text()), headers: response.headers }
  }
  return {
    transport: 'rest',
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body = {}, headers) => send('POST', path, body, headers),
    patch: (path, body = {}, headers) => send('PATCH', path, body, headers),
    put: (path, body = {}, headers) => send('PUT', path, body, headers),
    del: (path, body, headers) => send('DELETE', path, body, headers),
    call: (service, method, ...args) => send(...requestOf(service, method, args)),
    close: () => {}
  }
}

/** `data.code` of a refusal; `undefined` of anything else. */
export function codeOf(answer: Answer): string | undefined {
  const data = answer.body['data']
  return isObject(data) && typeof data['code'] === 'string' ? data['code'] : undefined
}

/** The records in the answer to `find`. */
export function rowsOf(answer: Answer): Body[] {
  const data = answer.body['data']
  if (!Array.isArray(data)) throw new Error(`not the answer of a find: ${answer.status} ${JSON.stringify(answer.body)}`)
  return data as Body[]
}

/** `{a: {$in: [1, 2]}}` as `?a[$in][0]=1&a[$in][1]=2`. */
export function queryString(query: Body = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => pairsOf(name, value))
  return pairs.length ? `?${pairs.join('&')}` : ''
}

function pairsOf(name: string, value: unknown): string[] {
  if (value === undefined) return []
  if (value === null || typeof value !== 'object') return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`]
  return Object.entries(value).flatMap(([key, inner]) => pairsOf(`${name}[${key}]`, inner))
}

function requestOf(service: string, method: string, args: unknown[]): [method: string, path: string, body?: unknown] {
  const path = (id: unknown, params: unknown) => {
    const query = (params as { query?: Body } | undefined)?.query
    return `/${service}${id === null || id === undefined ? '' : `/${String(id)}`}${queryString(query)}`
  }
  switch (method) {
    case 'find':
      return ['GET', path(null, args[0])]
    case 'get':
      return ['GET', path(args[0], args[1])]
    case 'create':
      return ['POST', path(null, args[1]), args[0]]
    case 'patch':
      return ['PATCH', path(args[0], args[2]), args[1]]
    case 'update':
      return ['PUT', path(args[0], args[2]), args[1]]
    case 'remove':
      return ['DELETE', path(args[0], args[1])]
    default:
      throw new Error(`REST has no method ${method}`)
  }
}

function parse(text: string): Body {
  if (text === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return (typeof value === 'object' && value !== null ? value : { value }) as Body
  } catch {
    // Not every answer is JSON: metrics and exports are text.
    return { text }
  }
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
