import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTerminal, type TaskStatus } from '@stoa/core/domain/task-state'
import { rowsOf, type Body } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import type { Settings } from '../support/daemon-process.js'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { recordingProxy, type Recorded, type RecordingProxy, type Trouble } from './recording-proxy.js'
import { startExecutor, type Ended } from './start-executor.js'

export interface WorkerOptions {
  args?: string[]
  /** Ann's key with the scope of executors unless told. */
  credential?: Record<string, string>
  /** Null: start it without --dir. */
  directory?: null
  /** Another daemon than the one of the world, such as a proxy before it. */
  url?: string
}

/** A daemon for the block it is called in; in it Ann, a key for executors and a worktree, and for each test a new directory. */
export function workerWorld(start: (settings: Settings) => Promise<Daemon>, settings: Settings = {}) {
  let world: World
  let ann: Person
  let key: string
  let worktree: string
  let root: string
  let directory: string
  let daemon: Daemon
  const proxies: RecordingProxy[] = []
  const workers: (() => Promise<Ended>)[] = []

  before(async () => {
    root = await makeDirectory()
    daemon = await start({ STOA_LEASE_S: '3', ...settings })
    world = await buildWorld(daemon.url)
    ann = await world.user('ann')
    key = text(await made(ann.rest.post('/api-keys', { name: 'an executor', scope: 'executor' })), 'secret')
    worktree = await world.worktree(ann)
  })

  after(() => removeDirectory(root))

  beforeEach(async () => {
    directory = await mkdtemp(join(root, 'directory-'))
  })

  /** None of them outlives its test, nor does what it runs. */
  afterEach(async () => {
    for (const end of workers.splice(0)) await end()
    for (const proxy of proxies.splice(0)) await proxy.close()
  })

  return {
    daemon: () => daemon,
    world: () => world,
    ann: () => ann,
    key: () => key,
    session: () => world.session(ann, worktree),
    inDirectory: (file: string) => join(directory, file),
    lines: async (file: string): Promise<string[]> => (await readFile(join(directory, file), 'utf8')).trimEnd().split('\n'),

    async queue(prompt: string, more: Body = {}): Promise<string> {
      const session_id = more['session_id'] ?? (await world.session(ann, worktree))
      return text(await made(ann.rest.post('/tasks', { session_id, prompt, ...more })), 'task_id')
    },

    /** An executor that takes tasks; `stop` is what a service manager would do. */
    work(options: WorkerOptions = {}) {
      const where = options.directory === null ? [] : ['--dir', directory]
      const args = ['--daemon', options.url ?? daemon.url, ...where, ...(options.args ?? [])]
      const { child, ended } = startExecutor(args, options.credential ?? { STOA_KEY: key })
      const stop = (): Promise<Ended> => {
        child.kill('SIGTERM')
        return ended
      }
      workers.push(stop)
      return { executor: child, ended: () => ended, stop }
    },

    async proxied(trouble?: (request: Recorded, earlier: number) => Trouble): Promise<RecordingProxy> {
      const proxy = await recordingProxy(daemon.url, trouble)
      proxies.push(proxy)
      return proxy
    },

    read: (task: string): Promise<Body> => made(ann.rest.get(`/tasks/${task}`)),

    /** The task, once it has this status. */
    async becomes(task: string, status: TaskStatus): Promise<Body> {
      for (;;) {
        const body = await made(ann.rest.get(`/tasks/${task}`))
        if (body['status'] === status) return body
        if (isTerminal(body['status'] as TaskStatus)) throw new Error(`the task is not ${status}: ${JSON.stringify(body)}`)
        await sleep(50)
      }
    },

    transcript: async (task: string): Promise<Body[]> => {
      const { session_id } = await made(ann.rest.get(`/tasks/${task}`))
      return rowsOf(await ann.rest.get(`/messages?session_id=${String(session_id)}`))
    },

    /** Each status that the task has had, in order. */
    history: async (task: string): Promise<unknown[]> =>
      rowsOf(await ann.rest.get(`/tasks/${task}/events`)).map(({ status }) => status)
  }
}
