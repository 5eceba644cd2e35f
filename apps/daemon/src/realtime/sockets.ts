import socketio from '@feathersjs/socketio'
import type { Application } from '@feathersjs/feathers'
import type { IncomingMessage } from 'node:http'
import { BODY_LIMIT } from '../http/json-body.js'

/** Feathers over sockets: the same services, the same pipeline. Browsers may come from our own origin only. */
export function sockets(app: Application): void {
  app.configure(
    socketio({ maxHttpBufferSize: BODY_LIMIT, serveClient: false, allowRequest: (req, decide) => decide(null, isOwnOrigin(req)) }, (io) => {
      io.use((socket, next) => {
        Object.assign((socket as unknown as { feathers: object }).feathers, { ip: socket.handshake.address })
        next()
      })
    })
  )
}

/** Programs send no Origin; a page of another site cannot leave it out. */
function isOwnOrigin({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return true
  return URL.canParse(headers.origin) && new URL(headers.origin).host === headers.host
}
