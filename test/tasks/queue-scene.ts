import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { client, codeOf, rowsOf, type Answer, type Body, type Client } from '../support/client.js'
import { buildWorld, made, text, type Person } from '../support/world.js'

export type QueueScene = Awaited<ReturnType<typeof queueScene>>

export interface Place {
  worktree_id: string
  session_id: string
  /** No other place has it: an executor that can run this agent alone gets the tasks of this place alone. */
  agent: string
}

export interface Lease {
  lease_id: string
  attempt: number
  expires_at: string
  token: string
  task: Body
  session: Body
  worktree: Body
  task_id: string
  session_id: string
  /** Over REST, with the token of the lease. */
  rest: Client
}

export interface Executor {
  lease(wait_s?: number): Promise<Answer>
  /** A lease that there has to be. */
  take(wait_s?: number): Promise<Lease>
  takeNone(): Promise<void>
  renew(lease: Pick<Lease, 'lease_id'>, body?: Body): Promise<Answer>
}

/** Alice with a worktree of her own and a key for executors. */
export async function queueScene(url: string) {
  const world = await buildWorld(url)
  const alice = await world.user('alice')
  const executorKey = async (person: Person, at = url): Promise<string> =>
    text(await made(client(at, person.token).post('/api-keys', { name: 'an executor', scope: 'executor' })), 'secret')
  const key = await executorKey(alice)
  const worktree_id = await world.worktree(alice)
  const session = async ({ agent, worktree_id }: Pick<Place, 'agent' | 'worktree_id'>): Promise<string> =>
    text(await made(alice.rest.post('/sessions', { worktree_id, title: 'a session', agent })), 'session_id')
  let agents = 0

  return {
    world,
    alice,
    key,
    executorKey,

    /** A session in Alice's worktree, or in a new one. */
    async place(options: { alone?: boolean } = {}): Promise<Place> {
      const inside = { agent: `agent-${++agents}`, worktree_id: options.alone ? await world.worktree(alice) : worktree_id }
      return { ...inside, session_id: await session(inside) }
    },

    /** Another session for the same agent. */
    beside: async (place: Place): Promise<Place> => ({ ...place, session_id: await session(place) }),

    /** As many tasks, in their order. */
    async tasks({ session_id }: Place, count: number, author: Person = alice): Promise<string[]> {
      const ids: string[] = []
      while (ids.length < count) ids.push(await world.task(author, session_id))
      return ids
    },

    executor: (place: Pick<Place, 'agent'>, at = url, secret = key): Executor => executorOf(at, secret, [place.agent]),

    task: (task_id: string): Promise<Body> => made(alice.rest.get(`/tasks/${task_id}`)),

    statuses: async (ids: string[]): Promise<unknown[]> =>
      Promise.all(ids.map(async (id) => (await made(alice.rest.get(`/tasks/${id}`)))['status'])),

    /** What has happened to the task, oldest first. */
    history: async (task_id: string): Promise<Body[]> => rowsOf(await alice.rest.get(`/tasks/${task_id}/events`)),

    /** The task once it has this status, within seconds. */
    async becomes(task_id: string, status: string, reader: Client = alice.rest): Promise<Body> {
      for (const deadline = Date.now() + SOON_MS; ; await sleep(100)) {
        const task = await made(reader.get(`/tasks/${task_id}`))
        if (task['status'] === status) return task
        if (Date.now() > deadline) throw new Error(`not ${status} but ${JSON.stringify(task)}`)
      }
    }
  }
}

export function executorOf(url: string, secret: string, agents: string[]): Executor {
  const rest = client(url, secret)
  const lease: Executor['lease'] = (wait_s) =>
    rest.post('/leases', { executor: { ...EXECUTOR, agents }, ...(wait_s !== undefined && { wait_s }) })
  return {
    lease,
    async take(wait_s) {
      const answer = await lease(wait_s)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
      return leaseOf(url, answer)
    },
    async takeNone() {
      const { status, body } = await lease()
      expect([status, body]).to.deep.equal([204, {}])
    },
    renew: ({ lease_id }, body = {}) => rest.patch(`/leases/${lease_id}`, body)
  }
}

export function leaseOf(url: string, { body }: Answer): Lease {
  const lease = body as unknown as Lease
  return {
    ...lease,
    task_id: text(lease.task, 'task_id'),
    session_id: text(lease.task, 'session_id'),
    rest: client(url, lease.token)
  }
}

/** What the holder of a lease tells of its task. */
export async function report({ rest, task_id }: Pick<Lease, 'rest' | 'task_id'>, ...statuses: string[]): Promise<void> {
  for (const status of statuses) await made(rest.patch(`/tasks/${task_id}`, { status }))
}

/** Status and code in one, for comparisons. */
export function told(answer: Answer): string {
  return `${answer.status} ${codeOf(answer) ?? 'ok'}`
}

/** Until the lease has run out, by the clock of the daemon. */
export async function untilExpired({ expires_at }: Pick<Lease, 'expires_at'>): Promise<void> {
  await sleep(Math.max(0, Date.parse(expires_at) - Date.now()) + 50)
}

export const EXECUTOR = { name: 'an executor', host: 'localhost', pid: 4711, version: '1.0.0' }

const SOON_MS = 20_000
