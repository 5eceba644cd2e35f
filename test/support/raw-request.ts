import { Agent, request } from 'node:http'
import type { Answer, Body } from './client.js'

export interface RawAnswer extends Answer {
  text: string
}

/** A request whose path, headers and body go out as they are; fetch would tidy up the first and refuse some of the others. */
export function rawRequest(
  url: string,
  method: string,
  path: string,
  options: { headers?: Record<string, string>; body?: string } = {}
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const headers = {
    ...(options.body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(options.body))
    }),
    ...options.headers
  }
  return new Promise((resolve, reject) => {
    const req = request({ hostname, port, method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: response.statusCode!,
          body: parse(text),
          headers: new Headers(response.headers as Record<string, string>),
          text
        })
      })
    })
    req.setTimeout(ANSWER_MS, () => req.destroy(new Error(`no answer to ${method} ${path.slice(0, 200)}`)))
    req.on('error', reject)
    req.end(options.body)
  })
}

const ANSWER_MS = 30_000
const agent = new Agent({ keepAlive: true, maxSockets: 8, timeout: 1000 })

function parse(text: string): Body {
  try {
    const value: unknown = JSON.parse(text)
    return (typeof value === 'object' && value !== null ? value : { value }) as Body
  } catch {
    return { text }
  }
}
