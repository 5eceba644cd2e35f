import type { World } from '../support/world.js'
import { made, text, type Person } from '../support/world.js'
import { client, queryString, type Body, type Client } from '../support/client.js'

/** Calls every operation of the policy at least once, and lists with the filters that people use. Each has to succeed. */
export async function callEveryOperation(world: World): Promise<void> {
  const ann = await world.user('ann')
  const ben = await world.user('ben')
  const ids = await write(world, ann, ben)
  for (const rest of [ann.rest, ben.rest, world.root.rest]) await readAll(rest, ids, rest === ann.rest)
  await readAsAgent(world, ann, ids)
  await remove(world, ann, ids)
}

interface Ids {
  worktree_id: string
  session_id: string
  task_id: string
  message_id: string
  removed_id: string
  grant_id: string
  user_id: string
}

async function write(world: World, ann: Person, ben: Person): Promise<Ids> {
  const { rest } = ann
  const worktree_id = await world.worktree(ann, 'none')
  const grant_id = await world.grant(ann, worktree_id, ben, 'prompt')
  const session_id = await world.session(ann, worktree_id)
  await made(rest.post('/sessions', { worktree_id, parent_session_id: session_id }))
  const task_id = await world.task(ann, session_id)
  const message_id = await world.message(ann, session_id)
  for (let n = 0; n < 2; n += 1) {
    await made(rest.post('/tasks', { session_id, prompt: 'once', client_task_id: 'mine' }))
    await made(rest.post('/messages', { session_id, role: 'user', content: 'once', client_message_id: 'mine', task_id }))
  }
  const batch = Array.from({ length: 6 }, (_, n) => ({ session_id, role: n % 2 ? 'assistant' : 'user', content: `turn ${n}` }))
  await made(rest.post('/messages', batch))
  const { root } = world
  await made(rest.patch(`/users/${ann.user_id}`, { name: 'Ann' }))
  await made(root.rest.patch(`/users/${ben.user_id}`, { role: 'member' }))
  await made(rest.patch(`/worktrees/${worktree_id}`, { name: 'renamed', others_can: 'none' }))
  await made(rest.patch(`/grants/${grant_id}`, { level: 'all' }))
  await made(root.rest.post('/grants', { worktree_id, user_id: root.user_id, level: 'view', reason: 'to look' }))
  await made(rest.patch(`/sessions/${session_id}`, { title: 'renamed', settings: { a: 1, b: null } }))
  await made(rest.patch(`/tasks/${task_id}`, { status: 'running' }))
  await made(rest.patch(`/messages/${message_id}`, { content: 'edited' }))
  const within = `/sessions/${session_id}`
  await made(rest.post(`${within}/compact`, { summary: 'so far', keep_last: 2 }))
  await made(rest.post(`${within}/fork`, { at_seq: 5, worktree_id }))
  await made(rest.post(`${within}/fork`, { at_seq: 5, worktree_id: await world.worktree(ann, 'none') }))
  const { undo_token } = await made(rest.post(`${within}/truncate`, { keep_count: 4 }))
  await made(rest.post(`${within}/undo`, { undo_token }))
  const removed_id = await world.message(ann, session_id)
  await made(rest.del(`/messages/${removed_id}`))
  await made(rest.post(`/messages/${removed_id}/restore`))
  await made(rest.del(`/messages/${removed_id}`))
  return { worktree_id, session_id, task_id, message_id, removed_id, grant_id, user_id: ann.user_id }
}

async function readAll(rest: Client, ids: Ids, isOwner: boolean): Promise<void> {
  const { worktree_id, session_id, task_id, message_id, removed_id, grant_id, user_id } = ids
  const since = { $gte: '2026-01-01T00:00:00.000Z' }
  const lists: Record<string, Body[]> = {
    users: [{}, { active: true }, { $sort: { name: 1 } }],
    'api-keys': [{}, { name: 'a key' }],
    worktrees: [{}, { others_can: 'none' }, { $sort: { updated_at: -1 } }],
    grants: [{}, { worktree_id }, { user_id }],
    sessions: [
      {},
      { worktree_id },
      { worktree_id: { $in: [worktree_id] } },
      { parent_session_id: session_id },
      { pinned: true },
      { $sort: { updated_at: -1 } },
      { updated_at: since, $sort: { updated_at: -1 } },
      { $sort: { worktree_id: 1 } },
      { worktree_id, $sort: { updated_at: -1 }, $select: ['session_id', 'title'] }
    ],
    tasks: [
      {},
      { session_id },
      { session_id, status: 'queued' },
      { session_id, client_task_id: 'mine' },
      { status: { $in: ['queued', 'running'] } }
    ],
    messages: [
      {},
      { session_id },
      { session_id, after_seq: 2 },
      { session_id, before_seq: 4 },
      { session_id, after_seq: 1, before_seq: 4, $select: ['message_id', 'seq', 'preview'] },
      { session_id, role: 'user' },
      { session_id, client_message_id: 'mine' },
      { task_id },
      { search: 'once' },
      { search: 'turn on*', session_id },
      { search: 'turn', $sort: { seq: 1 } }
    ],
    [`messages/${message_id}/revisions`]: [{}],
    [`sessions/${session_id}/context`]: [{}, { $limit: 0 }, { include: 'compacted' }],
    [`sessions/${session_id}/export`]: [{ format: 'json' }, { format: 'md' }],
    ...(isOwner && { 'removed-messages': [{}, { session_id }] }),
    journal: [
      {},
      { after_seq: 5 },
      { actor_id: user_id },
      { decision: 'deny', reason_code: 'level_too_low' },
      { worktree_id },
      { session_id },
      { resource_id: session_id },
      { worktree_id, ts: since },
      { $sort: { seq: -1 } }
    ]
  }
  for (const [service, queries] of Object.entries(lists))
    for (const query of queries) await made(rest.get(`/${service}${queryString(query)}`))
  const records = { users: user_id, worktrees: worktree_id, grants: grant_id, sessions: session_id, tasks: task_id }
  for (const [service, id] of Object.entries({ ...records, messages: message_id })) await made(rest.get(`/${service}/${id}`))
  if (!isOwner) return
  await made(rest.get(`/removed-messages/${removed_id}`))
  const [entry] = (await made(rest.get('/journal?$limit=1')))['data'] as Body[]
  await made(rest.get(`/journal/${text(entry!, 'id')}`))
}

/** With a task token everything is asked within one session. */
async function readAsAgent(world: World, ann: Person, { session_id, task_id }: Ids): Promise<void> {
  const agent = client(world.url, await world.taskToken(ann, task_id))
  for (const path of ['sessions', 'tasks', `messages?session_id=${session_id}`]) await made(agent.get(`/${path}`))
  await made(agent.post('/messages', { session_id, task_id, role: 'assistant', content: 'said' }))
  await made(agent.get(`/tasks/${task_id}/events`))
  await made(agent.patch(`/tasks/${task_id}`, { status: 'completed', exit_code: 0 }))
  await runAsExecutor(world, ann, session_id)
}

/** Leases what is queued, renews, is asked to stop, and says that it did; what is left is stopped before it began. */
async function runAsExecutor(world: World, ann: Person, session_id: string): Promise<void> {
  const { secret } = await made(ann.rest.post('/api-keys', { name: 'an executor', scope: 'executor' }))
  const executor = client(world.url, String(secret))
  const who = { name: 'one', host: 'here', pid: 1, agents: ['shell'], version: '1' }
  const { lease_id, token, task } = await made(executor.post('/leases', { executor: who }))
  const { task_id } = task as { task_id: string }
  const agent = client(world.url, String(token))
  await made(agent.patch(`/tasks/${task_id}`, { status: 'running' }))
  await made(ann.rest.post(`/tasks/${task_id}/stop`))
  await made(executor.patch(`/leases/${String(lease_id)}`, { progress: { steps: 1 } }))
  await made(agent.patch(`/tasks/${task_id}`, { status: 'stopped' }))
  await made(executor.post('/leases', { executor: who }))
  await made(ann.rest.post(`/tasks/${await world.task(ann, session_id)}/stop`))
}

async function remove(world: World, ann: Person, { worktree_id, session_id, task_id, grant_id }: Ids): Promise<void> {
  const { rest } = ann
  const { api_key_id } = await world.apiKey(ann)
  await made(rest.get(`/api-keys/${api_key_id}`))
  await made(rest.del(`/api-keys/${api_key_id}`))
  await made(world.root.rest.post('/sweeps'))
  await made(world.root.rest.post('/sweeps', { dry_run: false }))
  await made(rest.post(`/sessions/${session_id}/clear`))
  await made(rest.del(`/tasks/${task_id}`))
  await made(rest.del(`/grants/${grant_id}`))
  await made(rest.del(`/sessions/${session_id}`))
  await made(rest.del(`/worktrees/${worktree_id}`))
  await made(rest.patch(`/users/${ann.user_id}`, { password: 'ann has another password' }))
  const again = await world.signInAgain({ ...ann, password: 'ann has another password' })
  await made(again.rest.del('/authentication'))
}
