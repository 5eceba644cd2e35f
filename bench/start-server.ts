import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Started } from './contestants.js'
import type { World } from './world.js'

/** Starts one of servers/ as a child process; it ends with its stdin, so it cannot outlive us. */
export async function startServer(name: string, args: string[] = [], env: Record<string, string> = {}): Promise<Started> {
  const file = fileURLToPath(new URL(`servers/${name}.js`, import.meta.url))
  const child = spawn(process.execPath, [file, ...args], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => text as string),
    exited.then(([code]) => Promise.reject(new Error(`${name} ended with ${code} before it listened`)))
  ])
  const stop = async () => {
    child.stdin.end()
    await exited
  }
  return { world: JSON.parse(line) as World, pid: child.pid!, stop }
}
