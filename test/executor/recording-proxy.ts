import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Recorded {
  method: string
  path: string
  headers: Record<string, string>
  body: Record<string, unknown>
  status: number
}

/** What to do instead of passing a request on: answer it without the daemon, or pass it on and lose the answer. */
export type Trouble = { answer: number; body?: object } | 'lose the answer' | 'hang up' | undefined

export interface RecordingProxy {
  url: string
  requests: Recorded[]
  close(): Promise<void>
}

/** Stands between an executor and the daemon, keeps all that goes by, and makes trouble when told to. */
export async function recordingProxy(
  daemon: string,
  trouble: (request: Recorded, earlier: number) => Trouble = () => undefined
): Promise<RecordingProxy> {
  const requests: Recorded[] = []
  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString()
    const recorded: Recorded = {
      method: request.method!,
      path: request.url!,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      status: 0
    }
    const earlier = requests.filter(({ method, path }) => method === recorded.method && path === recorded.path).length
    requests.push(recorded)
    const instead = trouble(recorded, earlier)
    if (instead === 'hang up') return void response.destroy()
    if (typeof instead === 'object') {
      recorded.status = instead.answer
      return void response
        .writeHead(instead.answer, { 'content-type': 'application/json' })
        .end(JSON.stringify(instead.body ?? {}))
    }
    const { host: _, connection: __, 'content-length': ___, ...headers } = recorded.headers
    // One who hangs up while the daemon waits hangs up on the daemon too.
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    let answer: Response
    let answerText: string
    try {
      const { method } = recorded
      answer = await fetch(daemon + recorded.path, { method, headers, signal: gone.signal, ...(text !== '' && { body: text }) })
      answerText = await answer.text()
    } catch {
      return void response.destroy()
    }
    recorded.status = answer.status
    if (instead === 'lose the answer') return void response.destroy()
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' }).end(answerText)
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }
}
