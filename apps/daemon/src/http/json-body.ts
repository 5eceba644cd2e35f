import type { IncomingMessage } from 'node:http'
import type { Middleware, Request } from 'koa'
import getRawBody from 'raw-body'
import { StoaError } from '@stoa/core/errors'

type JsonValue = NonNullable<Request['body']>

/** Room for a text of a megabyte and for a full list of ordinary messages. */
export const BODY_LIMIT = 8 * 1024 * 1024

/**
 * JSON and nothing else. A form or plain text is what a foreign page can send without asking, so it is refused, and
 * bad JSON is the caller's error, not ours.
 */
export const jsonBody: Middleware = async (ctx, next) => {
  if (hasBody(ctx.req)) ctx.request.body = parse(await readBody(ctx.req), ctx.get('Content-Type'))
  await next()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

async function readBody(req: IncomingMessage): Promise<string> {
  if (req.headers['content-encoding'] && req.headers['content-encoding'] !== 'identity') throw new StoaError('invalid', { message: 'Compressed bodies are not taken.' })
  try {
    return await getRawBody(req, { limit: BODY_LIMIT, encoding: 'utf8', length: req.headers['content-length'] ?? null })
  } catch (cause) {
    if ((cause as { type?: string }).type !== 'entity.too.large') throw new StoaError('invalid', { cause })
    // Let the rest run into nothing: a client that is still sending would see a broken pipe instead of the answer.
    req.resume()
    throw new StoaError('too_large')
  }
}

function parse(text: string, contentType: string): JsonValue | undefined {
  if (text === '') return undefined
  if (!/^application\/json\s*(;|$)/i.test(contentType)) throw new StoaError('invalid', { message: 'Send JSON, with Content-Type: application/json.' })
  try {
    refuseInexactNumbers(text)
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    if (cause instanceof StoaError) throw cause
    throw new StoaError('invalid', { message: 'The body is not valid JSON.', cause })
  }
}

/**
 * JSON can say numbers that a double cannot hold; parsing them would silently make another number of what was sent.
 * The first test keeps everything else off the slow path.
 */
function refuseInexactNumbers(text: string): void {
  if (!/\d{16}|\d[eE][+-]?\d{2}/.test(text.replaceAll('.', ''))) return
  const outsideStrings = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""')
  for (const [number] of outsideStrings.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    if (!isExact(number)) throw new StoaError('invalid', { message: 'The body has a number that cannot be kept exactly. Send it as text.' })
  }
}

/** What JSON would write for the parsed number has the same digits and the same magnitude. */
function isExact(number: string): boolean {
  const parsed = Number(number)
  return Number.isFinite(parsed) && normalForm(number) === normalForm(String(parsed))
}

function normalForm(number: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  return significant === '' ? '0' : `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
