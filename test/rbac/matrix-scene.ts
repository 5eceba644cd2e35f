import type { GrantLevel, OthersLevel, Role } from '@stoa/core/policy/levels'
import { client, rowsOf } from '../support/client.js'
import { made, text, type Person, type World } from '../support/world.js'

/** One place per level and per way to have it: by a grant, or by `others_can`. */
export const STANDINGS: { grant: GrantLevel | null; others_can: OthersLevel }[] = [
  { grant: null, others_can: 'none' },
  ...(['view', 'session', 'prompt', 'all', 'owner'] as const).map((grant) => ({ grant, others_can: 'none' as const })),
  ...(['view', 'session', 'prompt', 'all'] as const).map((others_can) => ({ grant: null, others_can })),
  // A grant that is lower than what everybody has.
  { grant: 'view', others_can: 'all' }
]
const ROLES = ['viewer', 'member', 'admin'] as const

export interface Actor extends Person {
  role: Role
  key: { api_key_id: string; secret: string }
  executor: Executing
}

/** The key of an executor, and a lease that it holds. */
export interface Executing {
  secret: string
  lease_id: string
}

/** What no executor here can run: else they would lease the tasks that are there to be patched. */
export const AGENT = 'nobody-runs-this'

/** A session with what is in it, and per role a token of its task. */
export interface Spot {
  session_id: string
  task_id: string
  other_task_id: string
  message_id: string
  /** A message of which only the tombstone is left. */
  removed_id: string
  tokens: Partial<Record<Role, string>>
}

export interface Place {
  grant: GrantLevel | null
  others_can: OthersLevel
  worktree_id: string
  grants: Partial<Record<Role, string>>
  bystanders_grant: string
  foreign: Spot
  own: Record<Role, Spot>
  journal_id: string
}

export interface Scene {
  world: World
  keeper: Person
  keepersKey: { api_key_id: string }
  keepersExecutor: Executing
  bystander: Person
  stranger: Person
  actors: Record<Role, Actor>
  places: Place[]
}

/** Everybody is a member with `prompt` first, so that all have sessions and tokens of their own; then each gets their place. */
export async function setTheScene(world: World): Promise<Scene> {
  const person = (name: string) => world.user(name)
  const [keeper, bystander, stranger] = [await person('keeper'), await person('bystander'), await person('stranger')]
  const people = { viewer: await person('vera'), member: await person('mary'), admin: await person('ada') }

  const spot = async (author: Person, worktree_id: string, roles: readonly Role[]): Promise<Spot> => {
    const session_id = await sessionFor(AGENT, author, worktree_id)
    const [task_id, other_task_id] = [await world.task(author, session_id), await world.task(author, session_id)]
    const tokens: Spot['tokens'] = {}
    for (const role of roles) tokens[role] = await world.taskToken(people[role], task_id)
    const [message_id, removed_id] = [await world.message(author, session_id), await world.message(author, session_id)]
    await made(author.rest.del(`/messages/${removed_id}`))
    return { session_id, task_id, other_task_id, message_id, removed_id, tokens }
  }

  const places: Place[] = []
  for (const { grant, others_can } of STANDINGS) {
    const worktree_id = await world.worktree(keeper, 'prompt')
    const bystanders_grant = await world.grant(keeper, worktree_id, bystander, 'view')
    const own: Partial<Record<Role, Spot>> = {}
    for (const role of ROLES) own[role] = await spot(people[role], worktree_id, [role])
    const foreign = await spot(keeper, worktree_id, ROLES)
    const grants: Place['grants'] = {}
    for (const role of grant ? ROLES : []) grants[role] = await world.grant(keeper, worktree_id, people[role], grant!)
    await made(keeper.rest.patch(`/worktrees/${worktree_id}`, { others_can }))
    const [entry] = rowsOf(await world.root.rest.get(`/journal?worktree_id=${worktree_id}&$limit=1`))
    places.push({
      grant,
      others_can,
      worktree_id,
      grants,
      bystanders_grant,
      foreign,
      own: own as Place['own'],
      journal_id: text(entry!, 'id')
    })
  }

  const executing = async (person: Person): Promise<Executing> => {
    const secret = text(await made(person.rest.post('/api-keys', { name: 'an executor', scope: 'executor' })), 'secret')
    const agent = `for-${person.name}`
    await world.task(keeper, await sessionFor(agent, keeper, await world.worktree(keeper, 'all')))
    const executor = { name: 'an executor', host: 'localhost', pid: 1, version: '1', agents: [agent] }
    return { secret, lease_id: text(await made(client(world.url, secret).post('/leases', { executor })), 'lease_id') }
  }
  const actor = async (role: Role): Promise<Actor> => {
    const executor = await executing(people[role])
    await made(world.root.rest.patch(`/users/${people[role].user_id}`, { role }))
    const person = await world.signInAgain(people[role])
    return { ...person, role, key: await world.apiKey(person), executor }
  }
  const actors = { viewer: await actor('viewer'), member: await actor('member'), admin: await actor('admin') }
  const keepers = { keepersKey: await world.apiKey(keeper), keepersExecutor: await executing(keeper) }
  return { world, keeper, ...keepers, bystander, stranger, actors, places }
}

/** A session whose tasks are for this agent. */
export async function sessionFor(agent: string, author: Person, worktree_id: string): Promise<string> {
  return text(await made(author.rest.post('/sessions', { worktree_id, title: 'a session', agent })), 'session_id')
}
