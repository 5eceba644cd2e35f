import { expect } from 'chai'
import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { client, codeOf, rowsOf, type Answer } from '../support/client.js'
import { eachDatabase, type StoringDaemon } from '../support/databases.js'
import { absentId, doorKeeper, type Call } from '../support/doors.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('tokens and keys', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let daemon: StoringDaemon
    let world: World
    let [alice, bob]: Person[] = []

    before(async () => {
      daemon = await database.start()
      world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      bob = await world.user('bob')
    })

    const expectAll = async (token: string, calls: Call[], status: number, code?: string) => {
      for (const door of await open(world.url, token))
        for (const call of calls) {
          const answer = await door.call(...call)
          expect(`${answer.status} ${codeOf(answer)}`, `${door.transport} ${JSON.stringify(call)}`).to.equal(`${status} ${code}`)
        }
    }

    const placeOf = async (owner: Person) => {
      const worktree_id = await world.worktree(owner)
      const session_id = await world.session(owner, worktree_id)
      const [message_id, removed_id] = [await world.message(owner, session_id), await world.message(owner, session_id)]
      const truncated = await made(owner.rest.post(`/sessions/${session_id}/truncate`, { keep_count: 1 }))
      return {
        worktree_id,
        session_id,
        task_id: await world.task(owner, session_id),
        message_id,
        removed_id,
        undo_token: text(truncated, 'undo_token')
      }
    }

    it('D7: a task token works on its task and in its session, on nothing else of its user, and on nothing that its user cannot see', async () => {
      const [s, t, foreign] = [await placeOf(alice!), await placeOf(alice!), await placeOf(bob!)]
      const beside = await world.task(alice!, s.session_id)
      const token = await world.taskToken(alice!, s.task_id)
      const message = (session_id: string) => ({ session_id, role: 'assistant', content: 'x' })

      await expectAll(
        token,
        [
          ['sessions', 'get', s.session_id],
          ['tasks', 'get', s.task_id],
          ['tasks', 'get', beside],
          ['messages', 'get', s.message_id],
          ['worktrees', 'get', s.worktree_id]
        ],
        200
      )
      await expectAll(
        token,
        [
          ['messages', 'patch', s.message_id, { content: 'y' }],
          ['tasks', 'patch', s.task_id, { status: 'running' }],
          [`messages/${s.message_id}/revisions`, 'find'],
          [`sessions/${s.session_id}/context`, 'find', { query: { $limit: 1 } }],
          [`sessions/${s.session_id}/export`, 'find', { query: {} }]
        ],
        200
      )
      await expectAll(
        token,
        [
          ['messages', 'create', message(s.session_id)],
          ['messages', 'create', [message(s.session_id), message(s.session_id)]],
          [`sessions/${s.session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }]
        ],
        201
      )

      const outside: Call[] = [
        ['tasks', 'patch', beside, { status: 'running' }],
        ['tasks', 'create', { session_id: s.session_id, prompt: 'x' }],
        ['tasks', 'remove', s.task_id],
        ['messages', 'remove', s.message_id],
        ['sessions', 'patch', s.session_id, { title: 'x' }],
        ['sessions', 'remove', s.session_id],
        ['sessions', 'create', { worktree_id: s.worktree_id }],
        [`sessions/${s.session_id}/fork`, 'create', { at_seq: 1 }],
        [`sessions/${s.session_id}/truncate`, 'create', { keep_count: 0 }],
        [`sessions/${s.session_id}/clear`, 'create', {}],
        [`sessions/${s.session_id}/undo`, 'create', { undo_token: s.undo_token }],
        [`messages/${s.removed_id}/restore`, 'create', {}],
        ['removed-messages', 'get', s.removed_id],
        ['removed-messages', 'find', { query: {} }],
        [`sessions/${t.session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }],
        [`sessions/${t.session_id}/context`, 'find', { query: {} }],
        [`sessions/${t.session_id}/export`, 'find', { query: {} }],
        ['worktrees', 'patch', s.worktree_id, { name: 'x' }],
        ['worktrees', 'create', { name: 'x' }],
        ['grants', 'create', { worktree_id: s.worktree_id, user_id: bob!.user_id, level: 'owner' }],
        ['api-keys', 'create', { name: 'x' }],
        ['users', 'patch', alice!.user_id, { password: 'another password' }],
        [`tasks/${s.task_id}/token`, 'create', {}],
        ['sessions', 'get', t.session_id],
        ['tasks', 'get', t.task_id],
        ['tasks', 'patch', t.task_id, { status: 'running' }],
        ['messages', 'get', t.message_id],
        ['messages', 'patch', t.message_id, { content: 'x' }],
        ['messages', 'create', message(t.session_id)],
        ['worktrees', 'get', t.worktree_id],
        ['grants', 'find', { query: {} }],
        ['api-keys', 'find', { query: {} }]
      ]
      await expectAll(token, outside, 403, 'token_scope')
      const invisible: Call[] = [
        ['sessions', 'get', foreign.session_id],
        ['tasks', 'patch', foreign.task_id, { status: 'running' }],
        ['messages', 'get', foreign.message_id],
        ['messages', 'create', message(foreign.session_id)],
        [`sessions/${foreign.session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }],
        [`sessions/${foreign.session_id}/context`, 'find', { query: {} }],
        [`sessions/${foreign.session_id}/export`, 'find', { query: {} }],
        [`sessions/${foreign.session_id}/clear`, 'create', {}],
        [`messages/${foreign.removed_id}/restore`, 'create', {}],
        ['tasks', 'get', absentId()]
      ]
      await expectAll(token, invisible, 404, 'not_found')
      for (const service of ['sessions', 'tasks', 'messages']) {
        const rows = rowsOf(await client(world.url, token).get(`/${service}`))
        expect(
          rows.map((row) => row['session_id']),
          service
        ).to.satisfy((ids: string[]) => ids.length > 0 && ids.every((id) => id === s.session_id))
      }
    })

    for (const status of ['completed', 'failed', 'stopped', 'timed_out'])
      it(`D7: a task token dies when its task is ${status}, on an open socket too`, async () => {
        const { session_id, task_id } = await placeOf(alice!)
        const token = await world.taskToken(alice!, task_id)
        const doors = await open(world.url, token)
        await made(doors[0]!.call('tasks', 'patch', task_id, { status: 'running' }))
        await made(doors[1]!.call('tasks', 'patch', task_id, { status }))
        const calls: Call[] = [
          ['tasks', 'get', task_id],
          ['messages', 'create', { session_id, role: 'assistant', content: 'late' }],
          ['tasks', 'patch', task_id, { status }]
        ]
        for (const door of doors)
          for (const call of calls) {
            const answer = await door.call(...call)
            expect([answer.status, codeOf(answer)], `${door.transport} ${JSON.stringify(call)}`).to.deep.equal([
              401,
              'not_authenticated'
            ])
          }
        const reopened = openSocket(world.url, token).then(
          (door) => (door.close(), 'signed in'),
          (error: Error) => error.message
        )
        expect(await reopened).to.include('not_authenticated')
        expect((await made(alice!.rest.get(`/messages?session_id=${session_id}`)))['total']).to.equal(1)
      })

    it('D7: a task token dies with its task when that is removed, with its session and with its worktree', async () => {
      for (const what of ['tasks', 'sessions', 'worktrees'] as const) {
        const { worktree_id, session_id, task_id } = await placeOf(alice!)
        const token = await world.taskToken(alice!, task_id)
        await made(alice!.rest.del(`/${what}/${{ tasks: task_id, sessions: session_id, worktrees: worktree_id }[what]}`))
        const answer = await client(world.url, token).get(`/sessions/${session_id}`)
        expect([answer.status, codeOf(answer)], what).to.deep.equal([401, 'not_authenticated'])
      }
    })

    it('D7: a task token can do no more than its user can now: after the grant is gone its session is not found', async () => {
      const { worktree_id, session_id } = await placeOf(alice!)
      const grant_id = await world.grant(alice!, worktree_id, bob!, 'prompt')
      const task_id = await world.task(bob!, session_id)
      const token = await world.taskToken(bob!, task_id)
      await expectAll(token, [['sessions', 'get', session_id]], 200)
      await made(alice!.rest.patch(`/grants/${grant_id}`, { level: 'view' }))
      await expectAll(token, [['tasks', 'patch', task_id, { status: 'running' }]], 403, 'level_too_low')
      await made(alice!.rest.del(`/grants/${grant_id}`))
      await expectAll(
        token,
        [
          ['sessions', 'get', session_id],
          ['tasks', 'patch', task_id, { status: 'running' }],
          ['messages', 'create', { session_id, role: 'user', content: 'x' }],
          [`sessions/${session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }],
          [`sessions/${session_id}/context`, 'find', { query: {} }],
          [`sessions/${session_id}/export`, 'find', { query: {} }]
        ],
        404,
        'not_found'
      )
    })

    it('an API key is told once: it is in no later answer, not in the journal, and not in the database', async () => {
      const { api_key_id, secret } = await world.apiKey(alice!)
      expect(secret).to.match(/^stoa_pat_/)
      expect((await made(client(world.url, secret).get('/sessions')))['total']).to.be.a('number')
      const task_id = (await placeOf(alice!)).task_id
      // Behind the id; the part itself may have underscores in it.
      const secretPart = secret.split('_').slice(3).join('_')
      const secrets = [secret, secretPart, await world.taskToken(alice!, task_id), alice!.token, alice!.password]
      const answers: Answer[] = []
      const paths = ['/api-keys', `/api-keys/${api_key_id}`, '/api-keys?$select=secret', '/users', `/users/${alice!.user_id}`]
      for (const path of paths) answers.push(await alice!.rest.get(path))
      const told = JSON.stringify([answers, await world.journalSince(0)])
      const kept = await daemon.stored()
      expect(kept).to.include(alice!.email)
      for (const shown of secrets) {
        expect(told.includes(shown), 'told again').to.equal(false)
        expect(kept.includes(shown), 'kept in the database').to.equal(false)
      }
    })

    it('an API key ends when it expires, and when it is removed, over REST and on an open socket', async () => {
      const expires_at = new Date(Date.now() + 1500).toISOString()
      const short = text(await made(alice!.rest.post('/api-keys', { name: 'short', expires_at })), 'secret')
      const long = await world.apiKey(alice!)
      const doors = [...(await open(world.url, short)), ...(await open(world.url, long.secret))]
      for (const door of doors) expect((await door.call('sessions', 'find', { query: {} })).status).to.equal(200)
      await made(alice!.rest.del(`/api-keys/${long.api_key_id}`))
      await sleep(Math.max(0, Date.parse(expires_at) - Date.now()) + 50)
      for (const door of doors) {
        const answer = await door.call('sessions', 'find', { query: {} })
        expect([answer.status, codeOf(answer)]).to.deep.equal([401, 'not_authenticated'])
      }
      expect((await alice!.rest.get(`/api-keys/${long.api_key_id}`)).status).to.equal(404)
    })

    it('an API key of somebody else is not found and not listed, by an admin either, and goes on working', async () => {
      const { api_key_id, secret } = await world.apiKey(alice!)
      for (const person of [bob!, world.root])
        for (const door of await open(world.url, person.token)) {
          for (const call of [
            ['api-keys', 'get', api_key_id],
            ['api-keys', 'remove', api_key_id]
          ] as Call[])
            expect((await door.call(...call)).status, person.name).to.equal(404)
          expect(
            rowsOf(await door.call('api-keys', 'find', { query: {} })).every((row) => row['user_id'] === person.user_id)
          ).to.equal(true)
        }
      expect((await client(world.url, secret).get('/sessions')).status).to.equal(200)
    })

    it('an access token ends with DELETE /authentication, that one only, and on open sockets too', async () => {
      const [first, second] = [await world.signInAgain(alice!), await world.signInAgain(alice!)]
      const doors = await open(world.url, first.token)
      await made(first.rest.del('/authentication'))
      for (const door of doors) expect((await door.call('sessions', 'find', { query: {} })).status).to.equal(401)
      expect((await first.rest.del('/authentication')).status).to.equal(401)
      const shown = await client(world.url).post('/authentication', { strategy: 'jwt', accessToken: first.token })
      expect([shown.status, codeOf(shown)]).to.deep.equal([401, 'not_authenticated'])
      expect((await second.rest.get('/sessions')).status).to.equal(200)
    })

    it('a token that somebody else signed, or nobody, or that was altered, is 401', async () => {
      const [header, payload, signature] = alice!.token.split('.') as [string, string, string]
      const roots = world.root.token.split('.') as [string, string, string]
      const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
      const foreign = createHmac('sha256', randomBytes(48)).update(`${header}.${payload}`).digest('base64url')
      const key = (await world.apiKey(alice!)).secret
      const forged = [
        `${header}.${payload}.${foreign}`,
        `${none}.${payload}.`,
        `${header}.${payload}.`,
        `${header}.${roots[1]}.${signature}`,
        `${key}x`,
        key.slice(0, -1),
        key.toUpperCase(),
        key.replace('stoa_pat_', 'stoa_task_')
      ]
      for (const token of forged) {
        const answer = await client(world.url, token).get('/sessions')
        expect([answer.status, codeOf(answer)], token).to.deep.equal([401, 'not_authenticated'])
      }
    })

    it('a key or token in the URL, in a cookie or in another scheme signs nobody in', async () => {
      const { secret } = await world.apiKey(alice!)
      for (const [query, headers] of [
        [`?access_token=${secret}`, {}],
        [`?token=${secret}`, {}],
        ['', { cookie: `feathers-jwt=${alice!.token}; accessToken=${secret}` }],
        ['', { authorization: `Basic ${Buffer.from(`${alice!.email}:${alice!.password}`).toString('base64')}` }],
        ['', { 'x-access-token': secret, 'x-api-key': secret }]
      ] as [string, Record<string, string>][])
        expect((await client(world.url).get(`/sessions${query}`, headers)).status, query + JSON.stringify(headers)).to.equal(401)
    })
  })
})
