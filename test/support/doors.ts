import { randomBytes } from 'node:crypto'
import { client, type Answer, type Body, type Door } from './client.js'
import { openSocket } from './socket.js'

export type Call = [service: string, method: string, ...args: unknown[]]

/** Opens both doors for a credential, or for none, and closes them after the block that it is called in. */
export function doorKeeper(): (url: string, token?: string) => Promise<Door[]> {
  const open: Door[] = []
  after(() => open.forEach((door) => door.close()))
  return async (url, token) => {
    const doors = [client(url, token), await openSocket(url, token)]
    open.push(...doors)
    return doors
  }
}

/** A UUIDv7 that nothing has. */
export function absentId(): string {
  const random = randomBytes(10).toString('hex')
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}

/** The body without the two ids that differ from answer to answer. */
export function withoutIds({ body }: Answer): Body {
  const { request_id: _request, decision_id: _decision, ...data } = (body['data'] ?? {}) as Body
  return { ...body, data }
}

/** `data` of a refusal. */
export function detailsOf({ body }: Answer): Body {
  return (body['data'] ?? {}) as Body
}
