import { Agent, request } from 'node:http'
import type { Work } from '../work.js'
import type { World } from '../world.js'

export interface OneConnection {
  /** How long the answer took, to its last byte, in ms. An answer that is not the expected one stops the benchmark. */
  send(work: Work, n: number): Promise<number>
  close(): void
}

export function oneConnection(world: World): OneConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: `Bearer ${world.token}` }
  const send = (work: Work, n: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const { path } = work.request(world, n)
      const started = performance.now()
      request(`${world.url}${path}`, { agent, headers }, (response) => {
        response.resume()
        response.once('end', () => {
          if (response.statusCode === work.status) resolve(performance.now() - started)
          else reject(new Error(`${work.title}: expected ${work.status}, got ${response.statusCode}`))
        })
      })
        .once('error', reject)
        .end()
    })
  return { send, close: () => agent.destroy() }
}
