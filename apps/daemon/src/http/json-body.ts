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
  if (req.headers['content-encoding'] && req.headers['content-encoding'] !== 'identity')
    throw new StoaError('invalid', { message: 'Compressed bodies are not taken.' })
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
  if (!/^application\/json\s*(;|$)/i.test(contentType))
    throw new StoaError('invalid', { message: 'Send JSON, with Content-Type: application/json.' })
  try {
    const body = JSON.parse(text) as JsonValue
    refuseInexactNumbers(text)
    return body
  } catch (cause) {
    if (cause instanceof StoaError) throw cause
    throw new StoaError('invalid', { message: 'The body is not valid JSON.', cause })
  }
}

/**
 * JSON can say numbers that a double cannot hold; parsing them would silently make another number of what was sent.
 * One pass over text that is known to be JSON: this runs before anybody has signed in, so nothing here may be quadratic.
 */
function refuseInexactNumbers(json: string): void {
  if (!/\d{16}|\d[eE][+-]?\d{2}/.test(json.replaceAll('.', ''))) return
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] === '"') at = endOfString(json, at)
    else if (isInNumber(json[at]!)) {
      let end = at
      while (end < json.length && isInNumber(json[end]!)) end += 1
      if (!isExact(json.slice(at, end)))
        throw new StoaError('invalid', { message: 'The body has a number that cannot be kept exactly. Send it as text.' })
      at = end - 1
    }
  }
}

function endOfString(json: string, start: number): number {
  let at = start + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at
}

/** The letters of true, false and null have an `e` too; alone it is no number, and exact by the test below. */
function isInNumber(character: string): boolean {
  return (character >= '0' && character <= '9') || '+-.eE'.includes(character)
}

/** What JSON would write for the parsed number has the same digits and the same magnitude. */
function isExact(number: string): boolean {
  if (!/\d/.test(number)) return true
  if (number.length > MAX_NUMBER) return false
  const parsed = Number(number)
  return Number.isFinite(parsed) && normalForm(number) === normalForm(String(parsed))
}

/** Longer than any text that JavaScript itself writes for a number. */
const MAX_NUMBER = 32

function normalForm(number: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  return significant === ''
    ? '0'
    : `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
