import { feathers } from '@feathersjs/feathers'
import { koa, rest, type Application } from '@feathersjs/koa'
import type { Deps } from './deps.js'
import { checkCoverage, sealApp } from './hooks/check-coverage.js'
import { answerErrors } from './http/answer-errors.js'
import { callerAddress } from './http/caller-address.js'
import { jsonBody } from './http/json-body.js'
import { refuseHostilePaths } from './http/refuse-hostile-paths.js'
import { routes } from './http/routes.js'
import { securityHeaders } from './http/security-headers.js'
import { sockets } from './realtime/sockets.js'
import { services } from './services/index.js'

/** The daemon as one page: what a request passes on its way to a service, in order. */
export function createApp(deps: Deps): Application {
  const app = koa(feathers())
  // An answer that broke off: the client went away, or what was being sent could no longer be read.
  app.on('error', (error: unknown) => deps.logger.info({ err: error }, 'an answer was cut short'))
  app.use(answerErrors(deps))
  app.use(securityHeaders)
  app.use(callerAddress)
  app.use(refuseHostilePaths)
  routes(app, deps)
  app.use(jsonBody)
  app.configure(rest())
  sockets(app, deps)
  services(app, deps)
  checkCoverage(app)
  sealApp(app)
  return app
}
