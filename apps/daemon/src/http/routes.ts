import type { Application } from '@feathersjs/koa'
import { buildOpenApi } from '@stoa/core/contract/openapi'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.js'
import { requirePolicy } from '../hooks/check-coverage.js'
import { checkHealth } from './health.js'

export interface Route {
  path: string
  /** Its entry in the policy; a route without one stops the start. */
  action: string
  answer(): Promise<{ status?: number; type?: string; body: unknown }>
}

/** The routes that are not services: what a supervisor, a scraper or a client generator asks, without a credential. */
export function routes(app: Application, deps: Deps, list: Route[] = standardRoutes(deps)): void {
  for (const { action } of list) requirePolicy(action)
  const byPath = new Map(list.map((route) => [route.path, route]))
  const serve: Middleware = async (ctx, next) => {
    const route = ctx.method === 'GET' || ctx.method === 'HEAD' ? byPath.get(ctx.path) : undefined
    if (!route) return next()
    const { status = 200, type = 'application/json', body } = await route.answer()
    ctx.status = status
    ctx.type = type
    ctx.body = body
  }
  app.use(serve)
}

export function standardRoutes(deps: Deps): Route[] {
  const openApi = JSON.stringify(buildOpenApi())
  return [
    { path: '/livez', action: 'livez.get', answer: async () => ({ body: { status: 'ok' } }) },
    {
      path: '/readyz',
      action: 'readyz.get',
      answer: async () => {
        const { database } = await checkHealth(deps)
        return { status: database.status === 'ok' ? 200 : 503, body: { status: database.status } }
      }
    },
    { path: '/health', action: 'health.get', answer: async () => ({ body: await checkHealth(deps) }) },
    {
      path: '/metrics',
      action: 'metrics.get',
      answer: async () => ({ type: 'text/plain; version=0.0.4', body: await deps.metrics.text() })
    },
    { path: '/openapi.json', action: 'openapi.get', answer: async () => ({ body: openApi }) }
  ]
}
