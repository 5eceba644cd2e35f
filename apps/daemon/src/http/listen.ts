import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Application } from '@feathersjs/koa'
import { SettingError } from '../config.js'

export interface Listening {
  url: string
  /** Takes no new work, lets what is under way finish, closes. */
  stop(): Promise<void>
}

/** How long requests that are under way may take to finish once a stop was asked for. */
const GRACE_MS = 10_000

/** Feathers resolves `listen` before the port is bound; the ready line must not lie. */
export async function listen(app: Application, host: string, port: number): Promise<Listening> {
  const server = (await app.listen({ host, port } as never)) as Server
  await bound(server, host, port)
  const address = server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`, stop: () => stop(app, server) }
}

async function bound(server: Server, host: string, port: number): Promise<void> {
  try {
    if (!server.listening) await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new SettingError(
        `STOA_PORT is ${port}, but that port is in use: stop what listens there, or choose another (0 takes any free one)`
      )
    if (code === 'EACCES')
      throw new SettingError(`STOA_PORT is ${port}, and this user may not listen there: choose one above 1023`)
    throw new SettingError(`STOA_HOST is ${host}, and it is not an address of this machine (${code})`)
  }
}

/** Open sockets and idle keep-alive connections would keep the server open for ever, so they are ended; requests are not. */
async function stop(app: Application, server: Server): Promise<void> {
  const { io } = app as Application & { io?: { disconnectSockets(close: boolean): void } }
  io?.disconnectSockets(true)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const idle = setInterval(() => server.closeIdleConnections(), 20)
  const deadline = setTimeout(() => server.closeAllConnections(), GRACE_MS)
  await closed
  clearInterval(idle)
  clearTimeout(deadline)
}
