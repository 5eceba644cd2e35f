import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { World } from '../world.js'

/** Where a server of the benchmark listens: loopback, any free port. */
export const ANY_PORT = { host: '127.0.0.1', port: 0 }

/** Says on stdout what to work on, and ends with its stdin: the kernel closes it however the benchmark ends. */
export async function serve(server: Server, world: Omit<World, 'url'>): Promise<void> {
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  process.stdin.resume().once('close', () => process.exit(0))
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, ...world } satisfies World)}\n`)
}
