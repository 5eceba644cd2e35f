import { expect } from 'chai'
import { codeOf, type Body, type Door } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, type Call } from '../support/doors.js'
import { rawRequest } from '../support/raw-request.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('methods that are not offered', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let ids: Record<string, string>
    let doors: Door[]

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      ids = await recordsOf(world, alice)
      doors = await open(world.url, alice.token)
    })

    /** All that there is, as an admin and its owner see it; the journal grows with every read. */
    const everything = async (): Promise<Body[]> => {
      const services = ['users', 'worktrees', 'grants', 'sessions', 'tasks', 'messages', 'removed-messages', 'api-keys']
      return Promise.all(
        services.map((service) => made((service === 'users' ? world.root : alice).rest.get(`/${service}?$limit=200`)))
      )
    }

    it('J3: PUT is 405 on every service, with and without an id', async () => {
      const before = await everything()
      for (const service of [...Object.keys(ids), 'authentication', ...nestedDoors(ids).map(([path]) => path)])
        for (const path of [
          `/${service}`,
          `/${service}/${ids[service] ?? absentId()}`,
          `/${service}?created_by=${alice.user_id}`
        ]) {
          const answer = await alice.rest.put(path, { title: 'x' })
          expect([answer.status, codeOf(answer)], path).to.deep.equal([405, 'method_not_allowed'])
        }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: update over a socket is answered with 405 too', async () => {
      const answer = await doors[1]!.call('sessions', 'update', ids['sessions'], { title: 'x' })
      expect([answer.status, codeOf(answer)]).to.deep.equal([405, 'method_not_allowed'])
    })

    it('J3: PATCH and DELETE without an id are 405 with and without a query, and change nothing', async () => {
      const before = await everything()
      for (const service of Object.keys(ids))
        for (const query of queries(service, ids, alice))
          for (const door of doors)
            for (const call of [
              [service, 'patch', null, somePatch(service), { query }],
              [service, 'remove', null, { query }]
            ] as Call[]) {
              const answer = await door.call(...call)
              expect([answer.status, codeOf(answer)], `${door.transport} ${JSON.stringify(call)}`).to.deep.equal([
                405,
                'method_not_allowed'
              ])
            }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: what hangs on one record offers its one method: every other is 405, with and without an id, and changes nothing', async () => {
      const before = await everything()
      for (const [path, offered, data] of nestedDoors(ids)) {
        const calls: Call[] = [
          ...(offered === 'find' ? [] : [[path, 'find', { query: {} }] as Call]),
          ...(offered === 'create' ? [] : [[path, 'create', data] as Call]),
          ...[null, ids['sessions']].flatMap((id): Call[] => [
            [path, 'patch', id, data],
            [path, 'remove', id],
            [path, 'patch', id, data, { query: { session_id: ids['sessions'] } }]
          ]),
          [path, 'get', ids['sessions']]
        ]
        for (const door of doors)
          for (const call of calls) {
            const answer = await door.call(...call)
            expect([answer.status, codeOf(answer)], `${door.transport} ${JSON.stringify(call)}`).to.deep.equal([
              405,
              'method_not_allowed'
            ])
          }
      }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: tombstones can be neither made, changed nor removed', async () => {
      const before = await everything()
      const id = ids['removed-messages']
      const calls: Call[] = [
        ['removed-messages', 'create', { session_id: ids['sessions'], role: 'user', content: 'x' }],
        ['removed-messages', 'patch', id, { content: 'x' }],
        ['removed-messages', 'patch', id, { deleted_at: null }],
        ['removed-messages', 'remove', id]
      ]
      for (const door of doors)
        for (const call of calls) {
          const answer = await door.call(...call)
          expect([answer.status, codeOf(answer)], JSON.stringify(call)).to.deep.equal([405, 'method_not_allowed'])
        }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: a slash behind the service is no id', async () => {
      const before = await everything()
      const headers = { authorization: `Bearer ${alice.token}` }
      for (const service of Object.keys(ids))
        for (const path of [`/${service}/`, `/${service}//`, `/${service}/?created_by=${alice.user_id}`])
          for (const [method, body] of [
            ['PATCH', JSON.stringify(somePatch(service))],
            ['DELETE', undefined]
          ] as const) {
            const { status } = await rawRequest(world.url, method, path, { headers, ...(body && { body }) })
            expect(status, `${method} ${path}`).to.be.oneOf([404, 405])
          }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: the journal can be neither written nor changed, by an admin either', async () => {
      const [row] = await world.journalSince(0)
      const calls: Call[] = [
        ['journal', 'create', { kind: 'x' }],
        ['journal', 'patch', row!.id, { reason: 'x' }],
        ['journal', 'remove', row!.id]
      ]
      for (const door of await open(world.url, world.root.token))
        for (const call of calls) {
          const answer = await door.call(...call)
          expect([answer.status, codeOf(answer)], JSON.stringify(call)).to.deep.equal([405, 'method_not_allowed'])
        }
      expect((await world.journalSince(0))[0]).to.deep.equal(row)
    })

    it('J3: a list is refused where none is documented, and nothing of it is made', async () => {
      const before = await everything()
      const { worktrees: worktree_id, sessions: session_id } = ids
      const creations: [string, Body][] = [
        ['worktrees', { name: 'x' }],
        ['grants', { worktree_id, user_id: world.root.user_id, level: 'view' }],
        ['sessions', { worktree_id }],
        ['tasks', { session_id, prompt: 'x' }],
        ['api-keys', { name: 'x' }],
        ['authentication', { strategy: 'local', email: alice.email, password: alice.password }]
      ]
      for (const door of doors)
        for (const [service, data] of creations)
          for (const list of [[data], [data, data], []]) {
            const answer = await door.call(service, 'create', list)
            expect([answer.status, codeOf(answer)], `${door.transport} ${service} ${list.length}`).to.deep.equal([400, 'invalid'])
          }
      for (const door of await open(world.url, world.root.token)) {
        const user = { email: 'new@example.com', name: 'x', password: 'a long password' }
        expect((await door.call('users', 'create', [user])).status).to.equal(400)
      }
      for (const door of doors)
        for (const service of ['worktrees', 'grants', 'sessions', 'tasks', 'messages', 'users']) {
          const answer = await door.call(service, 'patch', ids[service], [somePatch(service)])
          expect([answer.status, codeOf(answer)], `${door.transport} ${service}`).to.deep.equal([400, 'invalid'])
        }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: a list, a field or a parameter that is not documented is refused by whatever hangs on one record', async () => {
      const other = await world.session(alice, ids['worktrees']!)
      const before = await everything()
      for (const [path, offered, data] of nestedDoors(ids))
        for (const door of doors) {
          const parameters = [{ nonsense: 1 }, { session_id: other }, { session_id: ids['sessions'] }, { $version: 1 }]
          const calls: Call[] =
            offered === 'find'
              ? parameters.map((query): Call => [path, 'find', { query }])
              : [
                  ...[[], [data], [data, data], { ...data, nonsense: 1 }, { ...data, session_id: other }].map((body): Call => [
                    path,
                    'create',
                    body
                  ]),
                  ...parameters.map((query): Call => [path, 'create', data, { query }])
                ]
          for (const call of calls) {
            const answer = await door.call(...call)
            expect(answer.status, `${door.transport} ${JSON.stringify(call)}`).to.equal(400)
            expect(codeOf(answer), `${door.transport} ${JSON.stringify(call)}`).to.be.oneOf(['invalid', 'unknown_field'])
          }
        }
      expect(await everything()).to.deep.equal(before)
    })

    it('J3: a list of messages is for one session, and of 1 to 500', async () => {
      const before = await everything()
      const message = { session_id: ids['sessions'], role: 'user', content: 'x' }
      const elsewhere = { ...message, session_id: await world.session(alice, ids['worktrees']!) }
      for (const door of doors) {
        expect((await door.call('messages', 'create', [message, elsewhere])).status, 'two sessions').to.equal(400)
        expect((await door.call('messages', 'create', [])).status, 'none').to.equal(400)
        expect((await door.call('messages', 'create', Array(501).fill(message))).status, '501').to.be.oneOf([400, 413])
        expect((await door.call('messages', 'create', [[message]])).status, 'a list in a list').to.equal(400)
      }
      expect((await everything())[5]).to.deep.equal(before[5])
    })

    it('B13: fields that are the daemon’s own cannot be patched, and an unknown one is named', async () => {
      const before = await everything()
      const own: Record<string, Body> = {
        sessions: {
          session_id: absentId(),
          worktree_id: absentId(),
          created_by: alice.user_id,
          created_at: '2020-01-01T00:00:00.000Z',
          updated_at: '2020-01-01T00:00:00.000Z',
          version: 9,
          message_count: 9,
          last_seq: 9,
          boundary_seq: 9,
          tokens_estimated: 9,
          status: 'running',
          forked_from: null,
          parent_session_id: null
        },
        tasks: {
          task_id: absentId(),
          created_by: alice.user_id,
          version: 9,
          prompt: 'x',
          config: null,
          attempt: 9,
          started_at: '2020-01-01T00:00:00.000Z',
          queue_position: 1
        },
        messages: {
          message_id: absentId(),
          seq: 9,
          role: 'system',
          revision: 9,
          created_by: alice.user_id,
          client_message_id: 'x',
          deleted_at: null,
          preview: 'x',
          tokens_estimated: 9,
          boundary_seq: 1,
          version: 9
        },
        worktrees: {
          worktree_id: absentId(),
          repo_path: '/tmp',
          path: '/tmp',
          created_by: alice.user_id,
          my_level: 'owner',
          version: 9
        },
        grants: {
          grant_id: absentId(),
          user_id: world.root.user_id,
          worktree_id: absentId(),
          granted_by: alice.user_id,
          version: 9
        }
      }
      for (const door of doors)
        for (const [service, fields] of Object.entries(own)) {
          for (const [field, value] of Object.entries(fields)) {
            for (const patch of [{ [field]: value }, { ...somePatch(service), [field]: value }]) {
              const answer = await door.call(service, 'patch', ids[service], patch)
              expect([answer.status, codeOf(answer)], `${service} ${field}`).to.deep.equal([400, 'immutable_field'])
              expect((answer.body['errors'] as Body[])[0]!['field'], service).to.equal(field)
            }
          }
          for (const field of ['next_seq', 'nonsense', 'password_hash', 'constructor', 'access_version']) {
            const answer = await door.call(service, 'patch', ids[service], { ...somePatch(service), [field]: 1 })
            expect([answer.status, codeOf(answer)], `${service} ${field}`).to.deep.equal([400, 'unknown_field'])
          }
          const empty = await door.call(service, 'patch', ids[service], {})
          expect([empty.status, codeOf(empty)], service).to.deep.equal([400, 'invalid'])
        }
      expect(await everything()).to.deep.equal(before)
    })
  })
})

/** What hangs on one record, the one method that it offers, and what that takes. */
function nestedDoors(ids: Record<string, string>): [path: string, offered: 'create' | 'find', data: Body][] {
  const { sessions, tasks, messages, 'removed-messages': removed } = ids
  return [
    [`tasks/${tasks}/token`, 'create', {}],
    [`messages/${messages}/revisions`, 'find', {}],
    [`messages/${removed}/restore`, 'create', {}],
    [`sessions/${sessions}/fork`, 'create', { at_seq: 1 }],
    [`sessions/${sessions}/truncate`, 'create', { keep_count: 0 }],
    [`sessions/${sessions}/clear`, 'create', {}],
    [`sessions/${sessions}/undo`, 'create', { undo_token: absentId() }],
    [`sessions/${sessions}/compact`, 'create', { summary: 'x', keep_last: 0 }],
    [`sessions/${sessions}/context`, 'find', {}],
    [`sessions/${sessions}/export`, 'find', {}]
  ]
}

async function recordsOf(world: World, owner: Person): Promise<Record<string, string>> {
  const worktree_id = await world.worktree(owner)
  const session_id = await world.session(owner, worktree_id)
  const removed = await world.message(owner, session_id)
  await made(owner.rest.del(`/messages/${removed}`))
  const grants = (await made(owner.rest.get(`/grants?worktree_id=${worktree_id}`)))['data'] as Body[]
  return {
    users: owner.user_id,
    worktrees: worktree_id,
    grants: text(grants[0]!, 'grant_id'),
    sessions: session_id,
    tasks: await world.task(owner, session_id),
    messages: await world.message(owner, session_id),
    'removed-messages': removed,
    'api-keys': (await world.apiKey(owner)).api_key_id,
    journal: absentId()
  }
}

function somePatch(service: string): Body {
  const patches: Record<string, Body> = {
    messages: { content: 'x' },
    sessions: { title: 'x' },
    tasks: { because: 'x' },
    grants: { reason: 'x' }
  }
  return patches[service] ?? { name: 'x' }
}

function queries(service: string, ids: Record<string, string>, { user_id }: Person): Body[] {
  const own = {
    users: 'user_id',
    worktrees: 'worktree_id',
    grants: 'grant_id',
    sessions: 'session_id',
    tasks: 'task_id',
    messages: 'message_id',
    'removed-messages': 'message_id',
    'api-keys': 'api_key_id',
    journal: 'id'
  }
  return [
    {},
    { created_by: user_id },
    { [own[service as keyof typeof own]]: ids[service]! },
    { session_id: ids['sessions']! },
    { $limit: 1 },
    { nonsense: 1 }
  ]
}
