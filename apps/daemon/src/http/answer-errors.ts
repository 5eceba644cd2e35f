import { FeathersError } from '@feathersjs/errors'
import type { Context, Middleware } from 'koa'
import { StoaError } from '@stoa/core/errors'
import type { Deps } from '../deps.js'
import { toFeathersError, toStoaError } from './feathers-errors.js'

/** Outermost: whatever is thrown becomes the JSON of the contract, or `application/problem+json` for those who ask for it. */
export function answerErrors({ logger, newId }: Pick<Deps, 'logger' | 'newId'>): Middleware {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.body === undefined && ctx.status === 404)
        throw new StoaError('not_found', { message: 'There is nothing at this path.' })
    } catch (thrown) {
      answer(ctx, hasCode(thrown) ? thrown : outside(thrown))
    }
  }

  /** Errors from before or beside the pipeline: a bad body, an unknown path, a method that is not offered. */
  function outside(thrown: unknown): FeathersError {
    const error = toStoaError(thrown)
    const request_id = newId()
    if (error.status >= 500) logger.error({ request_id, outcome: error.code, err: error.cause ?? error })
    return toFeathersError(error, { request_id }, true)
  }
}

function hasCode(error: unknown): error is FeathersError {
  return error instanceof FeathersError && typeof (error.data as { code?: unknown } | undefined)?.code === 'string'
}

function answer(ctx: Context, error: FeathersError): void {
  const data = error.data as { code: string; request_id: string; decision_id?: string }
  ctx.status = error.code
  ctx.set('X-Request-Id', data.request_id)
  if (data.decision_id) ctx.set('X-Decision-Id', data.decision_id)
  if (error.code === 401) ctx.set('WWW-Authenticate', 'Bearer')
  ctx.body = wantsProblem(ctx) ? problem(error, data) : error.toJSON()
  if (wantsProblem(ctx)) ctx.type = 'application/problem+json'
}

function wantsProblem(ctx: Context): boolean {
  return ctx.get('Accept').includes('application/problem+json')
}

function problem(error: FeathersError, data: Record<string, unknown>): Record<string, unknown> {
  return {
    type: `urn:stoa:error:${String(data['code'])}`,
    title: error.name,
    status: error.code,
    detail: error.message,
    ...data,
    ...(error.errors && { errors: error.errors })
  }
}
