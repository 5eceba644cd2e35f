import type { Middleware } from 'koa'
import { StoaError } from '@stoa/core/errors'

/** Names that every object has are no path of ours; Feathers' router would find them in its tree and fail inside. */
export function isHostilePath(path: string): boolean {
  return path.split('/').some((part) => part in Object.prototype || part === 'prototype')
}

export const refuseHostilePaths: Middleware = async (ctx, next) => {
  if (isHostilePath(ctx.path)) throw new StoaError('not_found', { message: 'There is nothing at this path.' })
  await next()
}
