import { io, type Socket } from 'socket.io-client'
import type { Answer, Body } from './client.js'

export interface RawSocket {
  socket: Socket
  /** Sends an event with these arguments as they are; a Feathers client would look at some of them first. */
  send(event: string, ...args: unknown[]): Promise<Answer>
  close(): void
}

/** A connected socket, signed in when a token of any kind is given. */
export async function openRawSocket(url: string, token?: string): Promise<RawSocket> {
  const socket = io(url, { transports: ['websocket'], forceNew: true, reconnection: false, ackTimeout: ANSWER_MS })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('connect_error', reject)
  })
  const send = async (event: string, ...args: unknown[]): Promise<Answer> => {
    if (!socket.connected) throw new Error('the daemon has closed the socket')
    const [error, result] = await new Promise<[Body | null, unknown]>((resolve, reject) => {
      // With an ackTimeout, what the daemon answers comes after the error that says it has not.
      socket.emit(event, ...args, (late: Error | null, error: Body | null, result: unknown) => {
        if (late) reject(new Error(`no answer to ${event} ${JSON.stringify(args).slice(0, 500)}`))
        else resolve([error, result])
      })
    })
    return {
      status: error ? Number(error['code']) : event === 'create' ? 201 : 200,
      body: (error ?? result ?? {}) as Body,
      headers: new Headers()
    }
  }
  const close = () => void socket.close()
  if (token) {
    const answer = await send('create', 'authentication', { strategy: strategyOf(token), accessToken: token }, {})
    if (answer.status !== 201) {
      close()
      throw new Error(`the socket could not sign in: ${JSON.stringify(answer.body)}`)
    }
  }
  return { socket, send, close }
}

const ANSWER_MS = 30_000

function strategyOf(token: string): string {
  if (token.startsWith('stoa_pat_')) return 'api-key'
  return token.startsWith('stoa_task_') ? 'task-token' : 'jwt'
}
