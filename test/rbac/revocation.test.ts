import type { OthersLevel } from '@stoa/core/policy/levels'
import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { client, codeOf, type Answer, type Body, type Door } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

describe('what is taken away', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let names = 0
    const open: Door[] = []

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
    })

    after(() => open.forEach((door) => door.close()))

    const somebody = (role: 'member' | 'admin' = 'member') => world.user(`somebody-${++names}`, role)

    /** REST and an open socket of one credential. */
    const doorsOf = async (token: string): Promise<Door[]> => {
      const doors = [client(world.url, token), await openSocket(world.url, token)]
      open.push(...doors)
      return doors
    }

    const sharedSession = async (others_can: OthersLevel = 'none') => {
      const worktree_id = await world.worktree(alice, others_can)
      return { worktree_id, session_id: await world.session(alice, worktree_id) }
    }

    /** The next call through each door gets this answer, and each refusal is in the journal. */
    const expectNext = async (doors: Door[], call: Call, status: number, code?: string) => {
      const mark = await world.journalEnd()
      const answers: Answer[] = []
      for (const door of doors) answers.push(await door.call(...call))
      expect(answers.map((answer) => `${answer.status} ${codeOf(answer)}`)).to.deep.equal(doors.map(() => `${status} ${code}`))
      const rows = (await world.journalSince(mark)).map(({ action, decision, reason_code, transport }: JournalRecord) => ({
        action,
        decision,
        reason_code,
        transport
      }))
      const decision = code ? 'deny' : 'allow'
      expect(rows).to.deep.equal(
        doors.map(({ transport }) => ({ action: `${call[0]}.${call[1]}`, decision, reason_code: code ?? 'allowed', transport }))
      )
    }

    it('J7: the session of a removed grant is not found by the next call, on REST and on the open socket', async () => {
      const { worktree_id, session_id } = await sharedSession()
      const bob = await somebody()
      const grant_id = await world.grant(alice, worktree_id, bob, 'prompt')
      const doors = await doorsOf(bob.token)
      await expectNext(doors, ['sessions', 'get', session_id], 200)
      await expectNext(doors, message(session_id), 201)

      await made(alice.rest.del(`/grants/${grant_id}`))
      await expectNext(doors, ['sessions', 'get', session_id], 404, 'not_found')
      await expectNext(doors, message(session_id), 404, 'not_found')
      for (const door of doors)
        expect((await door.call('sessions', 'find', { query: { worktree_id } })).body['total']).to.equal(0)
    })

    it('J7: who removes their own grant is out at once', async () => {
      const { worktree_id, session_id } = await sharedSession()
      const bob = await somebody()
      const grant_id = await world.grant(alice, worktree_id, bob, 'view')
      const doors = await doorsOf(bob.token)
      await expectNext(doors, ['sessions', 'get', session_id], 200)

      await made(bob.rest.del(`/grants/${grant_id}`))
      await expectNext(doors, ['sessions', 'get', session_id], 404, 'not_found')
    })

    it('J7: after a grant is lowered to view the next write is refused, and reading goes on', async () => {
      const { worktree_id, session_id } = await sharedSession()
      const bob = await somebody()
      const grant_id = await world.grant(alice, worktree_id, bob, 'prompt')
      const doors = await doorsOf(bob.token)
      await expectNext(doors, message(session_id), 201)

      await made(alice.rest.patch(`/grants/${grant_id}`, { level: 'view' }))
      await expectNext(doors, message(session_id), 403, 'level_too_low')
      await expectNext(doors, ['sessions', 'get', session_id], 200)
    })

    it('J7: after others_can is lowered the next call is refused, then not found', async () => {
      const { worktree_id, session_id } = await sharedSession('prompt')
      const doors = await doorsOf((await somebody()).token)
      await expectNext(doors, message(session_id), 201)

      await made(alice.rest.patch(`/worktrees/${worktree_id}`, { others_can: 'view' }))
      await expectNext(doors, message(session_id), 403, 'level_too_low')
      await made(alice.rest.patch(`/worktrees/${worktree_id}`, { others_can: 'none' }))
      await expectNext(doors, ['sessions', 'get', session_id], 404, 'not_found')
    })

    it('J7: a grant below others_can takes effect on the next call', async () => {
      const { worktree_id, session_id } = await sharedSession('prompt')
      const bob = await somebody()
      const doors = await doorsOf(bob.token)
      await expectNext(doors, message(session_id), 201)

      await world.grant(alice, worktree_id, bob, 'view')
      await expectNext(doors, message(session_id), 403, 'level_too_low')
    })

    it('J7: a deactivated user is signed out of everything: access token, API key, task token, and a new sign-in', async () => {
      const { session_id } = await sharedSession('prompt')
      const bob = await somebody()
      const task_id = await world.task(bob, session_id)
      const tokens = [bob.token, (await world.apiKey(bob)).secret, await world.taskToken(bob, task_id)]
      const doors = (await Promise.all(tokens.map(doorsOf))).flat()
      await expectNext(doors, ['sessions', 'get', session_id], 200)

      await made(world.root.rest.patch(`/users/${bob.user_id}`, { active: false }))
      await expectNext(doors, ['sessions', 'get', session_id], 401, 'not_authenticated')
      const signIn = await client(world.url).post('/authentication', {
        strategy: 'local',
        email: bob.email,
        password: bob.password
      })
      expect([signIn.status, codeOf(signIn)]).to.deep.equal([401, 'not_authenticated'])
    })

    it('J7: a member who becomes a viewer may read but not write from the next call on', async () => {
      const { session_id } = await sharedSession('all')
      const bob = await somebody()
      const doors = await doorsOf((await world.apiKey(bob)).secret)
      await expectNext(doors, message(session_id), 201)

      await made(world.root.rest.patch(`/users/${bob.user_id}`, { role: 'viewer' }))
      await expectNext(doors, message(session_id), 403, 'role_too_low')
      await expectNext(doors, ['worktrees', 'create', { name: 'mine' }], 403, 'role_too_low')
      await expectNext(doors, ['sessions', 'get', session_id], 200)
    })

    it('J7: an admin who becomes a member sees no journal and patches nobody from the next call on', async () => {
      const { worktree_id } = await sharedSession()
      const bob = await somebody('admin')
      const doors = await doorsOf((await world.apiKey(bob)).secret)
      const entry = (await world.journalSince(0)).find((row) => row.worktree_id === worktree_id)!
      await expectNext(doors, ['journal', 'get', entry.id], 200)

      await made(world.root.rest.patch(`/users/${bob.user_id}`, { role: 'member' }))
      await expectNext(doors, ['journal', 'get', entry.id], 404, 'not_found')
      await expectNext(doors, ['users', 'patch', alice.user_id, { name: 'mallory' }], 403, 'role_too_low')
    })

    for (const who of ['the user', 'an admin'] as const) {
      it(`J7: a password changed by ${who} ends the access tokens that were given out before, and the new one signs in`, async () => {
        const { session_id } = await sharedSession('view')
        const bob = await somebody()
        const doors = await doorsOf((await world.signInAgain(bob)).token)
        await expectNext(doors, ['sessions', 'get', session_id], 200)

        const password = 'another long password'
        await made((who === 'the user' ? bob : world.root).rest.patch(`/users/${bob.user_id}`, { password }))
        await expectNext(doors, ['sessions', 'get', session_id], 401, 'not_authenticated')
        const old = await client(world.url).post('/authentication', {
          strategy: 'local',
          email: bob.email,
          password: bob.password
        })
        expect([old.status, codeOf(old)]).to.deep.equal([401, 'not_authenticated'])
        expect((await (await world.signInAgain({ ...bob, password })).rest.get(`/sessions/${session_id}`)).status).to.equal(200)
      })
    }

    it('D2: an access token that was signed out is refused everywhere, and no other token of that user', async () => {
      const { session_id } = await sharedSession('view')
      const bob = await somebody()
      const again = await world.signInAgain(bob)
      const doors = await doorsOf(again.token)
      await expectNext(doors, ['sessions', 'get', session_id], 200)

      await made(again.rest.del('/authentication'))
      await expectNext(doors, ['sessions', 'get', session_id], 401, 'not_authenticated')
      await expectNext(await doorsOf(bob.token), ['sessions', 'get', session_id], 200)
    })

    it('D2: a removed API key is refused by the next call, on REST and on the open socket', async () => {
      const { session_id } = await sharedSession('view')
      const bob = await somebody()
      const { api_key_id, secret } = await world.apiKey(bob)
      const doors = await doorsOf(secret)
      await expectNext(doors, ['sessions', 'get', session_id], 200)

      await made(bob.rest.del(`/api-keys/${api_key_id}`))
      await expectNext(doors, ['sessions', 'get', session_id], 401, 'not_authenticated')
    })

    it('D7: a task token dies when its task ends, and follows the rights of its user until then', async () => {
      const { worktree_id, session_id } = await sharedSession('prompt')
      const bob = await somebody()
      const task_id = await world.task(bob, session_id)
      const doors = await doorsOf(await world.taskToken(bob, task_id))
      await expectNext(doors, message(session_id), 201)

      await made(alice.rest.patch(`/worktrees/${worktree_id}`, { others_can: 'view' }))
      await expectNext(doors, message(session_id), 403, 'level_too_low')
      await made(alice.rest.patch(`/worktrees/${worktree_id}`, { others_can: 'prompt' }))
      for (const status of ['running', 'completed']) await made(doors[0]!.call('tasks', 'patch', task_id, { status }))
      await expectNext(doors, message(session_id), 401, 'not_authenticated')
    })

    it('D2: an API key that has expired, and one that never was, are refused', async () => {
      const bob = await somebody()
      const expires_at = new Date(Date.now() + 1_000).toISOString()
      const body = await made(bob.rest.post('/api-keys', { name: 'short', expires_at }))
      const doors = await doorsOf(String(body['secret']))
      await expectNext(doors, ['users', 'get', bob.user_id], 200)

      await new Promise((resolve) => setTimeout(resolve, 1_100))
      await expectNext(doors, ['users', 'get', bob.user_id], 401, 'not_authenticated')
      for (const token of ['stoa_pat_0000', 'stoa_task_0000', 'nonsense', `${bob.token}x`]) {
        await expectNext([client(world.url, token)], ['users', 'get', bob.user_id], 401, 'not_authenticated')
      }
    })
  })
})

type Call = [service: string, method: string, ...args: unknown[]]

const message = (session_id: string): Call => [
  'messages',
  'create',
  { session_id, role: 'user', content: 'hello' } satisfies Body
]
