import type { GrantLevel, Role } from '@stoa/core/policy/levels'
import { expected, expectedList, type Expectation, type Question } from '../policy/oracle.js'
import { type Body } from '../support/client.js'
import type { Person } from '../support/world.js'
import { type Actor, type Spot, type Place, type Scene } from './matrix-scene.js'

export const SERVICES = [
  'worktrees',
  'grants',
  'sessions',
  'tasks',
  'messages',
  'journal',
  'users',
  'api-keys',
  'authentication'
] as const
type Service = (typeof SERVICES)[number]

export interface Credential {
  actor: Actor
  credential: Question['credential']
  token: string | undefined
  reach: Question['reach']
}

type Call = [path: string, method: string, ...args: unknown[]]

/** One call of one caller, and what has to come of it. */
export interface Cell extends Expectation {
  credential: Credential
  action: string
  call: Call
  /** The record that the call names, where it names one. */
  record?: string
  /** Makes a record of its own for a call that is allowed and uses it up; the call, and its record. */
  fresh?: () => Promise<{ call: Call; record?: string }>
  /** For lists: what must, or must not, be in the answer. */
  list?: { sees: boolean; id: string }
  /** The patch writes what was there before, so it may or may not count as a change. */
  same?: boolean
}

/** The question to the oracle without what the credential says. */
type About = Pick<Question, 'action'> & Partial<Pick<Question, 'own' | 'fields' | 'reason'>>

function question(about: About, { actor, credential, reach }: Credential, place?: Place): Question {
  const { grant, others_can } = place ?? { grant: null, others_can: 'none' }
  return { own: false, fields: [], reason: false, ...about, role: actor.role, credential, reach, grant, others_can }
}

type Rest = Omit<Cell, keyof Expectation | 'credential' | 'action' | 'list'>

function cell(about: About, credential: Credential, place: Place | undefined, rest: Rest): Cell {
  return { credential, action: about.action, ...rest, ...expected(question(about, credential, place)) }
}

function listCell(about: About, credential: Credential, place: Place | undefined, query: Body, id: string): Cell {
  const { sees, ...expectation } = expectedList(question(about, credential, place))
  const call: Call = [about.action.split('.')[0]!, 'find', { query }]
  return { credential, action: about.action, call, ...expectation, list: { sees, id } }
}

/** A person's two credentials, the given task tokens by how near they are, and, for one of the actors, none. */
function credentials(actor: Actor, tokens: Partial<Record<Question['reach'], string | undefined>>): Credential[] {
  return [
    { actor, credential: 'access_token', token: actor.token, reach: 'elsewhere' },
    { actor, credential: 'api_key', token: actor.key.secret, reach: 'elsewhere' },
    ...Object.entries(tokens).map(([reach, token]) => ({ actor, credential: 'task_token', token, reach }) as Credential),
    ...(actor.role === 'member' ? [{ actor, credential: 'none', token: undefined, reach: 'elsewhere' } as const] : [])
  ]
}

/** Every actor in every place, with the tokens seen from the worktree itself. */
function* inPlaces({
  actors,
  places
}: Scene): Generator<{ actor: Actor; place: Place; by: Credential; mine: string | undefined }> {
  for (const [index, place] of places.entries())
    for (const actor of Object.values(actors)) {
      const next = places[(index + 1) % places.length]!.own[actor.role].tokens[actor.role]
      const tokens = { worktree: place.own[actor.role].tokens[actor.role], elsewhere: next }
      for (const by of credentials(actor, tokens)) yield { actor, place, by, mine: place.grants[actor.role] }
    }
}

/** Every actor at every session, their own and a foreign one, with the tokens seen from that session. */
function* inSessions({
  actors,
  places
}: Scene): Generator<{ actor: Actor; place: Place; spot: Spot; own: boolean; by: Credential }> {
  for (const [index, place] of places.entries())
    for (const actor of Object.values(actors))
      for (const own of [false, true]) {
        const [spot, otherSpot] = own ? [place.own[actor.role], place.foreign] : [place.foreign, place.own[actor.role]]
        const next = places[(index + 1) % places.length]!.own[actor.role]
        const tokens = {
          session: spot.tokens[actor.role],
          worktree: otherSpot.tokens[actor.role],
          elsewhere: next.tokens[actor.role]
        }
        for (const by of credentials(actor, tokens)) yield { actor, place, spot, own, by }
      }
}

let counter = 0
const unique = () => `change ${++counter}`

/** Every method of every service: for each, one cell per caller and place. */
export const cellsOf: Record<Service, (scene: Scene) => Cell[] | Promise<Cell[]>> = {
  worktrees: (scene) => [
    ...[...inPlaces(scene)].flatMap(({ actor, place, by }) => {
      const { worktree_id: record, others_can } = place
      const remove = async () => {
        const worktree_id = await likePlace(scene, place, actor)
        return { call: ['worktrees', 'remove', worktree_id] as Call, record: worktree_id }
      }
      return [
        listCell({ action: 'worktrees.find' }, by, place, { worktree_id: record }, record),
        cell({ action: 'worktrees.get' }, by, place, { call: ['worktrees', 'get', record], record }),
        cell({ action: 'worktrees.patch', fields: ['name'] }, by, place, {
          call: ['worktrees', 'patch', record, { name: unique() }],
          record
        }),
        cell({ action: 'worktrees.patch', fields: ['others_can'] }, by, place, {
          call: ['worktrees', 'patch', record, { others_can }],
          record,
          same: true
        }),
        cell({ action: 'worktrees.remove' }, by, place, { call: ['worktrees', 'remove', record], record, fresh: remove })
      ]
    }),
    ...anywhere(scene).map((by) =>
      cell({ action: 'worktrees.create' }, by, undefined, { call: ['worktrees', 'create', { name: unique() }] })
    )
  ],

  grants: (scene) =>
    [...inPlaces(scene)].flatMap(({ actor, place, by, mine }) => {
      const { worktree_id, bystanders_grant, grant } = place
      const create = (user_id: string, reason: boolean, own: boolean) => {
        const call = (id: string): Call => [
          'grants',
          'create',
          { worktree_id: id, user_id, level: 'view', ...(reason && { reason: 'an outage' }) }
        ]
        const fresh = async () => ({ call: call(await likePlace(scene, place, actor)) })
        return cell({ action: 'grants.create', own, reason }, by, place, { call: call(worktree_id), fresh })
      }
      const patch = (record: string, level: GrantLevel, reason: boolean, own: boolean) => {
        const data = { level, ...(reason && { reason: unique() }) }
        return cell({ action: 'grants.patch', own, reason }, by, place, {
          call: ['grants', 'patch', record, data],
          record,
          same: !reason
        })
      }
      const remove = (record: string, whose: Person, level: GrantLevel, own: boolean) => {
        const fresh = async () => {
          const id = await likePlace(scene, place, actor, own)
          const again = await scene.world.grant(scene.keeper, id, whose, level)
          return { call: ['grants', 'remove', again] as Call, record: again }
        }
        return cell({ action: 'grants.remove', own }, by, place, { call: ['grants', 'remove', record], record, fresh })
      }
      return [
        listCell({ action: 'grants.find' }, by, place, { worktree_id }, bystanders_grant),
        cell({ action: 'grants.get' }, by, place, { call: ['grants', 'get', bystanders_grant], record: bystanders_grant }),
        ...[false, true].flatMap((reason) => [
          create(scene.stranger.user_id, reason, false),
          patch(bystanders_grant, 'view', reason, false),
          // One grant for one person: who has one cannot get another, they patch it.
          ...(mine ? [patch(mine, grant!, reason, true)] : [create(actor.user_id, reason, true)])
        ]),
        remove(bystanders_grant, scene.bystander, 'view', false),
        ...(mine ? [remove(mine, actor, grant!, true)] : [])
      ]
    }),

  sessions: (scene) => [
    ...[...inSessions(scene)].flatMap(({ actor, place, spot: { session_id: record }, own, by }) => {
      const fresh = async () => {
        const session_id = await scene.world.session(own ? actor : scene.keeper, place.worktree_id)
        return { call: ['sessions', 'remove', session_id] as Call, record: session_id }
      }
      return [
        listCell({ action: 'sessions.find', own }, by, place, { worktree_id: place.worktree_id }, record),
        cell({ action: 'sessions.get', own }, by, place, { call: ['sessions', 'get', record], record }),
        cell({ action: 'sessions.patch', own }, by, place, { call: ['sessions', 'patch', record, { title: unique() }], record }),
        cell({ action: 'sessions.remove', own }, by, place, { call: ['sessions', 'remove', record], record, fresh })
      ]
    }),
    ...[...inPlaces(scene)].map(({ place: { worktree_id }, place, by }) =>
      cell({ action: 'sessions.create' }, by, place, { call: ['sessions', 'create', { worktree_id, title: 'new' }] })
    )
  ],

  tasks: (scene) =>
    [...inSessions(scene)].flatMap(({ place, spot: { session_id, task_id, other_task_id }, own, by }) => [
      listCell({ action: 'tasks.find', own }, by, place, { session_id }, task_id),
      cell({ action: 'tasks.create', own }, by, place, { call: ['tasks', 'create', { session_id, prompt: 'again' }] }),
      ...[task_id, other_task_id].flatMap((record) => {
        // The token in this session is the one of its first task.
        const near: Credential = by.reach === 'session' && record === task_id ? { ...by, reach: 'task' } : by
        const fresh = async () => {
          const again = await scene.world.task(scene.keeper, session_id)
          return { call: ['tasks', 'remove', again] as Call, record: again }
        }
        return [
          cell({ action: 'tasks.get', own }, near, place, { call: ['tasks', 'get', record], record }),
          cell({ action: 'tasks.patch', own }, near, place, { call: ['tasks', 'patch', record, { because: unique() }], record }),
          cell({ action: 'tasks.remove', own }, near, place, { call: ['tasks', 'remove', record], record, fresh }),
          cell({ action: 'task-tokens.create', own }, near, place, { call: [`tasks/${record}/token`, 'create', {}], record })
        ]
      })
    ]),

  messages: (scene) =>
    [...inSessions(scene)].flatMap(({ place, spot: { session_id, message_id: record }, own, by }) => {
      const fresh = async () => {
        const again = await scene.world.message(scene.keeper, session_id)
        return { call: ['messages', 'remove', again] as Call, record: again }
      }
      return [
        listCell({ action: 'messages.find', own }, by, place, { session_id }, record),
        cell({ action: 'messages.create', own }, by, place, {
          call: ['messages', 'create', { session_id, role: 'assistant', content: 'hi' }]
        }),
        cell({ action: 'messages.get', own }, by, place, { call: ['messages', 'get', record], record }),
        cell({ action: 'messages.patch', own }, by, place, {
          call: ['messages', 'patch', record, { content: unique() }],
          record
        }),
        cell({ action: 'messages.remove', own }, by, place, { call: ['messages', 'remove', record], record, fresh }),
        cell({ action: 'message-revisions.find', own }, by, place, { call: [`messages/${record}/revisions`, 'find'], record })
      ]
    }),

  journal: (scene) =>
    [...inPlaces(scene)].flatMap(({ place, by }) => [
      listCell(
        { action: 'journal.find' },
        by,
        place,
        { worktree_id: place.worktree_id, $sort: { seq: 1 }, $limit: 1 },
        place.journal_id
      ),
      cell({ action: 'journal.get' }, by, place, { call: ['journal', 'get', place.journal_id], record: place.journal_id })
    ]),

  users: (scene) =>
    anywhere(scene).flatMap((by) => {
      const patches = (person: Person, role: Role, own: boolean) =>
        Object.entries({ name: unique(), email: person.email, role, active: true }).map(([field, value]) =>
          cell({ action: 'users.patch', own, fields: [field] }, by, undefined, {
            call: ['users', 'patch', person.user_id, { [field]: value }],
            record: person.user_id,
            same: field !== 'name'
          })
        )
      const user = { name: 'new', email: `${unique().replace(' ', '-')}@example.com`, password: 'long enough', role: 'viewer' }
      return [
        listCell({ action: 'users.find' }, by, undefined, { user_id: scene.stranger.user_id }, scene.stranger.user_id),
        cell({ action: 'users.create' }, by, undefined, { call: ['users', 'create', user] }),
        ...[by.actor, scene.bystander].map(({ user_id }) =>
          cell({ action: 'users.get', own: user_id === by.actor.user_id }, by, undefined, {
            call: ['users', 'get', user_id],
            record: user_id
          })
        ),
        ...patches(by.actor, by.actor.role, true),
        ...patches(scene.bystander, 'member', false)
      ]
    }),

  'api-keys': (scene) =>
    anywhere(scene).flatMap((by) => {
      const fresh = async () => {
        const { api_key_id } = await scene.world.apiKey(by.actor)
        return { call: ['api-keys', 'remove', api_key_id] as Call, record: api_key_id }
      }
      return [
        listCell({ action: 'api-keys.find', own: true }, by, undefined, {}, by.actor.key.api_key_id),
        cell({ action: 'api-keys.create', own: true }, by, undefined, { call: ['api-keys', 'create', { name: 'new' }] }),
        ...[by.actor.key, scene.keepersKey].flatMap(({ api_key_id: record }) => {
          const own = record === by.actor.key.api_key_id
          return [
            cell({ action: 'api-keys.get', own }, by, undefined, { call: ['api-keys', 'get', record], record }),
            cell({ action: 'api-keys.remove', own }, by, undefined, { call: ['api-keys', 'remove', record], record, fresh })
          ]
        })
      ]
    }),

  authentication: async (scene) => {
    // Signing out uses the credential up, whether it is an access token or a key.
    const spare = async ({ actor, credential, token }: Credential) => {
      if (credential === 'access_token') return (await scene.world.signInAgain(actor)).token
      return credential === 'api_key' ? (await scene.world.apiKey(actor)).secret : token
    }
    const cells: Cell[] = []
    for (const by of anywhere(scene)) {
      const token = await spare(by)
      cells.push(
        cell({ action: 'authentication.remove', own: true }, { ...by, token }, undefined, {
          call: ['authentication', 'remove', null]
        })
      )
    }
    return cells
  }
}

/** For what belongs to no worktree: every actor with every kind of credential. */
export function anywhere({ actors, places }: Scene): Credential[] {
  return Object.values(actors).flatMap((actor) =>
    credentials(actor, { elsewhere: places[0]!.own[actor.role].tokens[actor.role] })
  )
}

/** A worktree of its own in which the actor has the level of the place. */
async function likePlace(
  { world, keeper }: Scene,
  { grant, others_can }: Place,
  actor: Actor,
  withoutGrant = false
): Promise<string> {
  const worktree_id = await world.worktree(keeper, others_can)
  if (grant && !withoutGrant) await world.grant(keeper, worktree_id, actor, grant)
  return worktree_id
}
