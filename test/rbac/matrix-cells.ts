import type { GrantLevel, Role } from '@stoa/core/policy/levels'
import type { Person } from '../support/world.js'
import {
  anywhere,
  cell,
  inPlaces,
  inSessions,
  likePlace,
  listCell,
  unique,
  type Call,
  type Cell,
  type Credential
} from './matrix-cell.js'
import { type Scene } from './matrix-scene.js'
import { removedMessageCells, transcriptCells } from './matrix-transcripts.js'

export const SERVICES = [
  'worktrees',
  'grants',
  'sessions',
  'transcripts',
  'tasks',
  'messages',
  'removed-messages',
  'journal',
  'users',
  'api-keys',
  'authentication',
  'sweeps',
  'leases'
] as const
type Service = (typeof SERVICES)[number]

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
        const stop = async () => {
          const again = await scene.world.task(scene.keeper, session_id)
          return { call: [`tasks/${again}/stop`, 'create', {}] as Call, record: again }
        }
        return [
          cell({ action: 'tasks.get', own }, near, place, { call: ['tasks', 'get', record], record }),
          cell({ action: 'tasks.patch', own }, near, place, { call: ['tasks', 'patch', record, { because: unique() }], record }),
          cell({ action: 'tasks.remove', own }, near, place, { call: ['tasks', 'remove', record], record, fresh }),
          cell({ action: 'task-stops.create', own }, near, place, {
            call: [`tasks/${record}/stop`, 'create', {}],
            record,
            fresh: stop
          }),
          cell({ action: 'task-events.find', own }, near, place, { call: [`tasks/${record}/events`, 'find'], record }),
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

  transcripts: transcriptCells,

  'removed-messages': removedMessageCells,

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

  sweeps: (scene) =>
    anywhere(scene).map((by) => cell({ action: 'sweeps.create' }, by, undefined, { call: ['sweeps', 'create', {}] })),

  leases: (scene) =>
    anywhere(scene).flatMap((by) => [
      cell({ action: 'leases.create' }, by, undefined, { call: ['leases', 'create', { executor: EXECUTOR }] }),
      ...[by.actor.executor, scene.keepersExecutor].map(({ lease_id: record }) =>
        cell({ action: 'leases.patch', own: record === by.actor.executor.lease_id }, by, undefined, {
          call: ['leases', 'patch', record, {}],
          record
        })
      )
    ]),

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

/** It can run nothing, so it is given nothing. */
const EXECUTOR = { name: 'idle', host: 'localhost', pid: 1, version: '1', agents: [] }
