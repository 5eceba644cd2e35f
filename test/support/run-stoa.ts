import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the built command line to its end, with this key in its environment or with none. */
export async function runStoa(args: string[], key?: string): Promise<Ended> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('STOA_'))
  const env = { ...Object.fromEntries(inherited), ...(key !== undefined && { STOA_KEY: key }) }
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 })
  const ended: Ended = { code: null, stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (ended.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (ended.stderr += chunk.toString()))
  await once(child, 'close')
  ended.code = child.exitCode
  return ended
}

const MAIN = fileURLToPath(new URL('../../../apps/daemon/dist/cli/main.js', import.meta.url))
