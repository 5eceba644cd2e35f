import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { rowsOf, type Body } from '../support/client.js'
import { startDaemon, type Daemon } from '../support/daemon.js'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { recordingProxy, type Recorded, type RecordingProxy, type Trouble } from './recording-proxy.js'
import { startExecutor, type Ended } from './start-executor.js'

export interface Queued {
  task_id: string
  session_id: string
}

export interface Options {
  args?: string[]
  /** Ann's key unless told. */
  credential?: Record<string, string>
  environment?: Record<string, string>
  /** Null: start it without --dir. */
  directory?: null
  trouble?: (request: Recorded, earlier: number) => Trouble
}

/**
 * A daemon for the block it is called in; in it Ann, her key and her worktree, and for each test a new directory.
 * What is made during the block can be read only inside its tests.
 */
export function executorWorld() {
  let daemon: Daemon
  let world: World
  let ann: Person
  let key: string
  let worktree: string
  /** The root below which the daemon may make worktrees of repositories. */
  let repositories: string
  let directory: string
  const proxies: RecordingProxy[] = []

  before(async () => {
    repositories = await makeDirectory()
    daemon = await startDaemon({ env: { STOA_REPO_ROOTS: repositories } })
    world = await buildWorld(daemon.url)
    ann = await world.user('ann')
    key = (await world.apiKey(ann)).secret
    worktree = await world.worktree(ann)
  })

  after(async () => {
    await daemon?.stop()
    await removeDirectory(repositories)
  })

  beforeEach(async () => {
    directory = await mkdtemp(join(repositories, 'directory-'))
  })

  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.close()
  })

  async function proxied(trouble?: Options['trouble']): Promise<RecordingProxy> {
    const proxy = await recordingProxy(daemon.url, trouble)
    proxies.push(proxy)
    return proxy
  }

  /** Starts an executor, with a proxy between it and the daemon. */
  async function begin({ task_id }: Queued, options: Options = {}) {
    const proxy = await proxied(options.trouble)
    const where = options.directory === null ? [] : ['--dir', directory]
    const args = ['--daemon', proxy.url, '--task', task_id, ...where, ...(options.args ?? [])]
    const { child, ended } = startExecutor(args, { ...(options.credential ?? { STOA_KEY: key }), ...options.environment })
    return { executor: child, ended: () => ended, proxy }
  }

  return {
    world: () => world,
    ann: () => ann,
    key: () => key,
    worktree: () => worktree,
    directory: () => directory,
    inDirectory: (file: string) => join(directory, file),
    proxied,
    begin,

    async execute(task: Queued, options: Options = {}): Promise<{ ended: Ended; proxy: RecordingProxy }> {
      const { ended, proxy } = await begin(task, options)
      return { ended: await ended(), proxy }
    },

    /** A queued task in a session of its own. */
    async queue(prompt: string, inWorktree = worktree): Promise<Queued> {
      const session_id = await world.session(ann, inWorktree)
      return { task_id: text(await made(ann.rest.post('/tasks', { session_id, prompt })), 'task_id'), session_id }
    },

    read: ({ task_id }: Queued): Promise<Body> => made(ann.rest.get(`/tasks/${task_id}`)),

    transcript: async ({ session_id }: Queued): Promise<Body[]> =>
      rowsOf(await ann.rest.get(`/messages?session_id=${session_id}`))
  }
}

export function lines(content: unknown): string[] {
  return String(content).trimEnd().split('\n')
}
