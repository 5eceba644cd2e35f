import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { READY, spawnDaemon, type DaemonProcess, type Settings } from './daemon-process.js'
import { makeDirectory, removeDirectory } from './directories.js'

export interface Daemon {
  url: string
  home: string
  pid: number
  /** All that it has written to stdout and stderr. */
  said(): string
  /** Waits for a text on stdout: not all of it comes with the line that says where it listens. */
  says(text: RegExp): Promise<RegExpExecArray>
  /** Its log file, as it is now. */
  log(): Promise<string>
  /** SIGTERM; unless it was killed before, it has to exit with 0. A home that was made for this daemon goes with it. */
  stop(): Promise<void>
  /** SIGKILL; the home stays, so that another daemon can start in it. */
  kill(): Promise<void>
}

export interface DaemonOptions {
  databaseUrl?: string
  home?: string
  env?: Settings
}

/** The first admin of every daemon that the tests start, unless they say otherwise. */
export const ADMIN = { email: 'root@example.com', password: 'root has a long password' }

/** The settings that make the first admin, and those that leave it to the daemon. */
export const WITH_ADMIN = { STOA_ADMIN_EMAIL: ADMIN.email, STOA_ADMIN_PASSWORD: ADMIN.password }
export const WITHOUT_ADMIN = { STOA_ADMIN_EMAIL: undefined, STOA_ADMIN_PASSWORD: undefined }

/** Starts the built daemon as a child process and waits until it listens. */
export async function startDaemon({ databaseUrl, home: given, env }: DaemonOptions = {}): Promise<Daemon> {
  const home = given ?? (await makeDirectory())
  const daemon = spawnDaemon({ STOA_HOME: home, ...WITH_ADMIN, ...(databaseUrl && { STOA_DATABASE_URL: databaseUrl }), ...env })
  const [, url] = await daemon.says(READY)
  let killed = false
  return {
    url: url!,
    home,
    pid: daemon.pid,
    said: () => daemon.stdout() + daemon.stderr(),
    says: daemon.says,
    log: () => readFile(join(home, 'logs', 'stoa.log'), 'utf8'),
    stop: async () => {
      const end = await endAfter(daemon, 'SIGTERM')
      if (!killed && end !== 0) throw new Error(`after SIGTERM the daemon ended with ${end}, not with 0\n${daemon.stderr()}`)
      if (!given) await removeDirectory(home)
    },
    kill: async () => {
      killed = true
      await endAfter(daemon, 'SIGKILL')
    }
  }
}

const STOP_MS = 15_000

/** A signal to one that has ended reaches nobody. */
async function endAfter(daemon: DaemonProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | string> {
  daemon.signal(signal)
  const late = setTimeout(() => daemon.signal('SIGKILL'), STOP_MS)
  const end = await daemon.ended
  clearTimeout(late)
  return end
}
