import type { Request } from 'autocannon'
import type { World } from './world.js'

export interface Work {
  name: string
  /** What the table calls it. */
  title: string
  /** The only status that counts as done. */
  status: number
  /** The nth request; what it changes has the number in it. */
  request(world: World, n: number): Request
  by: 'owner' | 'stranger'
}

export const work = {
  patch: {
    name: 'patch',
    title: 'PATCH /tasks/:id',
    status: 200,
    by: 'owner',
    request: ({ tasks }, n) => ({
      method: 'PATCH',
      path: `/tasks/${at(tasks, n)}`,
      body: JSON.stringify({ because: `reason ${n}` })
    })
  },
  get: {
    name: 'get',
    title: 'GET /tasks/:id',
    status: 200,
    by: 'owner',
    request: ({ tasks }, n) => ({ method: 'GET', path: `/tasks/${at(tasks, n)}` })
  },
  message: {
    name: 'message',
    title: 'POST /messages',
    status: 201,
    by: 'owner',
    request: ({ sessions }, n) => ({
      method: 'POST',
      path: '/messages',
      body: JSON.stringify({ session_id: at(sessions, n), role: 'assistant', content: `Line ${n} of what the agent said.` })
    })
  },
  refused: {
    name: 'refused',
    title: 'PATCH /tasks/:id, a stranger (404)',
    status: 404,
    by: 'stranger',
    request: ({ tasks }, n) => ({
      method: 'PATCH',
      path: `/tasks/${at(tasks, n)}`,
      body: JSON.stringify({ because: `reason ${n}` })
    })
  }
} as const satisfies Record<string, Work>

export type WorkName = keyof typeof work

export const WORK_NAMES = Object.keys(work) as WorkName[]

function at(ids: string[], n: number): string {
  const id = ids[n % ids.length]
  if (!id) throw new Error('the world has no records to work on')
  return id
}
