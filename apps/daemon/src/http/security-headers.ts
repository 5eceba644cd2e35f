import type { Middleware } from 'koa'

/** An API that is read by programs: nothing in an answer may be run, framed, sniffed or cached. CORS is closed by saying nothing. */
export const securityHeaders: Middleware = async (ctx, next) => {
  ctx.set({
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store'
  })
  await next()
}
