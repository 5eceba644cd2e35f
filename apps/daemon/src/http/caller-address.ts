import type { Middleware } from 'koa'

/** The address of the connection. Forwarded headers are not believed: anybody can send them. */
export const callerAddress: Middleware = async (ctx, next) => {
  ctx['feathers'] = {
    ...ctx['feathers'],
    isGone: () => ctx.req.socket.destroyed,
    ip: ctx.req.socket.remoteAddress
  } as typeof ctx.feathers
  await next()
}
