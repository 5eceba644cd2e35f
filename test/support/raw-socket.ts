import { io } from 'socket.io-client'
import type { Answer, Body } from './client.js'

export interface RawSocket {
  /** Sends an event with these arguments as they are; a Feathers client would look at some of them first. */
  send(event: string, ...args: unknown[]): Promise<Answer>
  close(): void
}

/** A socket signed in with an access token. */
export async function openRawSocket(url: string, accessToken: string): Promise<RawSocket> {
  const socket = io(url, { transports: ['websocket'], forceNew: true, reconnection: false })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('connect_error', reject)
  })
  const send = async (event: string, ...args: unknown[]): Promise<Answer> => {
    if (!socket.connected) throw new Error('the daemon has closed the socket')
    const [error, result] = await new Promise<[Body | null, unknown]>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${event} ${JSON.stringify(args).slice(0, 500)}`)), ANSWER_MS)
      socket.emit(event, ...args, (error: Body | null, result: unknown) => {
        clearTimeout(late)
        resolve([error, result])
      })
    })
    return { status: error ? Number(error['code']) : event === 'create' ? 201 : 200, body: (error ?? result ?? {}) as Body, headers: new Headers() }
  }
  const answer = await send('create', 'authentication', { strategy: 'jwt', accessToken }, {})
  if (answer.status !== 201) throw new Error(`the socket could not sign in: ${JSON.stringify(answer.body)}`)
  return { send, close: () => void socket.close() }
}

const ANSWER_MS = 20_000
