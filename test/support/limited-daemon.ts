import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { WITH_ADMIN } from './daemon.js'
import { READY } from './daemon-process.js'

export interface LimitedDaemon {
  url: string
  /** What it ended with after SIGTERM; SIGKILL when it did not end by itself. */
  stop(): Promise<number | string>
}

/**
 * The built daemon on a disk that is full for it: no file of it grows beyond so many kilobytes. Node ignores SIGXFSZ, so a
 * write beyond them fails like one on a full disk; other processes, also a later daemon in the same home, have room.
 */
export async function startWithFileLimit(home: string, kilobytes: number): Promise<LimitedDaemon> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('STOA_'))
  const settings = { STOA_PORT: '0', STOA_EXECUTORS: '0', STOA_HOME: home, ...WITH_ADMIN }
  const child = spawn('bash', ['-c', `ulimit -S -f ${kilobytes} && exec "$0" "$@"`, process.execPath, MAIN], {
    env: { ...Object.fromEntries(inherited), ...settings },
    stdio: ['ignore', 'pipe', 'ignore']
  })
  const kill = () => void child.kill('SIGKILL')
  process.prependListener('exit', kill)
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    process.removeListener('exit', kill)
    return code ?? signal!
  })
  const url = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      const ready = READY.exec(said)
      if (ready) resolve(ready[1]!)
    })
    void ended.then((end) => reject(new Error(`the daemon did not start: ${end}\n${said}`)))
  })
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM')
      const late = setTimeout(kill, STOP_MS)
      const end = await ended
      clearTimeout(late)
      return end
    }
  }
}

const MAIN = fileURLToPath(new URL('../../../apps/daemon/dist/main.js', import.meta.url))
const STOP_MS = 10_000
