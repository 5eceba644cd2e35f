import { feathers } from '@feathersjs/feathers'
import socketioClient from '@feathersjs/socketio-client'
import type { Answer, Body, Door } from './client.js'
import { openRawSocket } from './raw-socket.js'

/** A Feathers client on a connected socket, signed in when a token of any kind is given. */
export async function openSocket(url: string, token?: string): Promise<Door> {
  const { socket, close } = await openRawSocket(url, token)
  const app = feathers()
  // The same class, but its ESM and its CommonJS declarations do not match.
  app.configure(socketioClient.default(socket as unknown as Parameters<typeof socketioClient.default>[0]))
  const call = async (service: string, method: string, ...args: unknown[]): Promise<Answer> => {
    if (!socket.connected) throw new Error('the daemon has closed the socket')
    const methods = app.service(service) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    try {
      const body = await methods[method]!(...args)
      return { status: method === 'create' ? 201 : 200, body: (body ?? {}) as Body, headers: new Headers() }
    } catch (error) {
      return refusalOf(error)
    }
  }
  return { transport: 'socketio', call, close }
}

/** A Feathers error carries the status as `code`. A timeout is no answer, though the client converts it too. */
function refusalOf(error: unknown): Answer {
  const { code, message, name, data, errors } = error as Error & { code?: unknown; data?: unknown; errors?: unknown }
  if (typeof code !== 'number' || message === 'operation has timed out') throw error
  return { status: code, body: { name, message, code, data, errors }, headers: new Headers() }
}
