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
    throw new StoaError((cause as { type?: string }).type === 'entity.too.large' ? 'too_large' : 'invalid', { cause })
  }
}

function parse(text: string, contentType: string): JsonValue | undefined {
  if (text === '') return undefined
  if (!/^application\/json\s*(;|$)/i.test(contentType)) throw new StoaError('invalid', { message: 'Send JSON, with Content-Type: application/json.' })
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw new StoaError('invalid', { message: 'The body is not valid JSON.', cause })
  }
}
