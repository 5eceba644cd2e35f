import { FeathersError } from '@feathersjs/errors'
import socketio from '@feathersjs/socketio'
import type { Application } from '@feathersjs/feathers'
import type { IncomingMessage } from 'node:http'
import { StoaError, type ErrorCode } from '@stoa/core/errors'
import type { Deps } from '../deps.js'
import { registered } from '../hooks/register-service.js'
import { toFeathersError, toStoaError } from '../http/feathers-errors.js'
import { BODY_LIMIT } from '../http/json-body.js'
import { isHostilePath } from '../http/refuse-hostile-paths.js'

type Acknowledge = (error: unknown, result?: unknown) => void

/** Feathers over sockets: the same services, the same pipeline. Browsers may come from our own origin only. */
export function sockets(app: Application, deps: Deps): void {
  app.configure(
    socketio(
      { maxHttpBufferSize: BODY_LIMIT, serveClient: false, allowRequest: (req, decide) => decide(null, isOwnOrigin(req)) },
      (io) => {
        io.use((socket, next) => {
          Object.assign((socket as unknown as { feathers: object }).feathers, { ip: socket.handshake.address })
          socket.use((packet, proceed) => {
            const last = packet.at(-1) as unknown
            if (typeof last === 'function') packet[packet.length - 1] = withCodes(deps, last as Acknowledge)
            const refuse = (code: ErrorCode) => typeof last === 'function' && (packet.at(-1) as Acknowledge)(new StoaError(code))
            const [method, service] = packet as unknown[]
            if (!methodsOf(app).has(method)) refuse('method_not_allowed')
            else if (typeof service !== 'string' || isHostilePath(service)) refuse('not_found')
            else proceed()
          })
          next()
        })
      }
    )
  )
}

/** Feathers does not listen for a method that no service has, and would leave the caller without an answer. */
function methodsOf(app: Application): Set<unknown> {
  return new Set([...registered(app).values()].flatMap(({ methods }) => methods))
}

/** Errors that never reached the pipeline (an unknown service or method) leave with a code too, and never with a stack. */
function withCodes(deps: Deps, acknowledge: Acknowledge): Acknowledge {
  return (error, result) => {
    if (!error || typeof (error as { data?: { code?: unknown } }).data?.code === 'string') return acknowledge(error, result)
    const { name, code, message } = error as { name?: string; code?: number; message?: string }
    const thrown =
      error instanceof StoaError
        ? error
        : toStoaError(new FeathersError(message ?? '', name ?? 'GeneralError', typeof code === 'number' ? code : 500, '', {}))
    const request_id = deps.newId()
    if (thrown.status >= 500) deps.logger.error({ request_id, outcome: thrown.code, err: error })
    acknowledge(toFeathersError(thrown, { request_id }, false).toJSON())
  }
}

/** Programs send no Origin; a page of another site cannot leave it out. */
function isOwnOrigin({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return true
  return URL.canParse(headers.origin) && new URL(headers.origin).host === headers.host
}
