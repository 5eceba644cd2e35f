import { expect } from 'chai'
import { client, codeOf, rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, type Call } from '../support/doors.js'
import { made, text, type Person } from '../support/world.js'
import { EXECUTOR, queueScene, told, type Lease, type QueueScene } from '../tasks/queue-scene.js'

describe('the keys of executors', function () {
  this.timeout(60_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let scene: QueueScene
    let lease: Lease
    let message_id: string

    before(async () => {
      scene = await queueScene((await database.start()).url)
      const place = await scene.place()
      await scene.tasks(place, 1)
      message_id = await scene.world.message(scene.alice, place.session_id)
      lease = await scene.executor(place).take()
    })

    const executor = { ...EXECUTOR, agents: ['none-there-is'] }

    it('show their scope in every answer, and other keys show that they have none', async () => {
      const { api_key_id, scope } = await made(scene.alice.rest.post('/api-keys', { name: 'another', scope: 'executor' }))
      const plain = await scene.world.apiKey(scene.alice)
      expect(scope).to.equal('executor')
      expect(await made(scene.alice.rest.get(`/api-keys/${String(api_key_id)}`))).to.include({ scope: 'executor' })
      expect(await made(scene.alice.rest.get(`/api-keys/${plain.api_key_id}`))).to.include({ scope: null })
      const listed = rowsOf(await scene.alice.rest.get('/api-keys')).map((row) => row['scope'])
      expect(listed).to.include.members(['executor', null])
      for (const wrong of ['admin', '', 1, ['executor']])
        expect((await scene.alice.rest.post('/api-keys', { name: 'x', scope: wrong })).status, String(wrong)).to.equal(400)
    })

    it('J4: lease and renew, and every other service refuses them, on every record of their own user, with a row in the journal', async () => {
      const { task_id, session_id } = lease
      const worktree_id = text(lease.worktree, 'worktree_id')
      const user_id = scene.alice.user_id
      const { api_key_id } = await scene.world.apiKey(scene.alice)
      const [grant] = rowsOf(await scene.alice.rest.get(`/grants?worktree_id=${worktree_id}`))
      const before = await everything()
      const calls: Call[] = [
        ...['sessions', 'tasks', 'messages', 'worktrees', 'grants', 'users', 'api-keys', 'removed-messages', 'journal'].map(
          (service): Call => [service, 'find', { query: {} }]
        ),
        ...recordCalls('sessions', session_id, { title: 'x' }, { worktree_id }),
        ...recordCalls('tasks', task_id, { status: 'running' }, { session_id, prompt: 'x' }),
        ...recordCalls('messages', message_id, { content: 'x' }, { session_id, role: 'user', content: 'x' }),
        ...recordCalls('worktrees', worktree_id, { name: 'x' }, { name: 'x' }),
        ...recordCalls('grants', String(grant!['grant_id']), { level: 'view' }, { worktree_id, user_id, level: 'view' }),
        ['users', 'get', user_id],
        ['users', 'patch', user_id, { name: 'x' }],
        ['users', 'create', { email: 'x@example.com', name: 'x', password: 'long enough a word', role: 'member' }],
        ['api-keys', 'get', api_key_id],
        ['api-keys', 'create', { name: 'x' }],
        ['api-keys', 'create', { name: 'x', scope: 'executor' }],
        ['api-keys', 'remove', api_key_id],
        [`sessions/${session_id}/fork`, 'create', { at_seq: 1 }],
        [`sessions/${session_id}/truncate`, 'create', { keep_count: 0 }],
        [`sessions/${session_id}/clear`, 'create', {}],
        [`sessions/${session_id}/undo`, 'create', { undo_token: absentId() }],
        [`sessions/${session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }],
        [`sessions/${session_id}/context`, 'find', { query: {} }],
        [`sessions/${session_id}/export`, 'find', { query: {} }],
        [`messages/${message_id}/revisions`, 'find', { query: {} }],
        [`tasks/${task_id}/token`, 'create', {}],
        [`tasks/${task_id}/stop`, 'create', {}],
        [`tasks/${task_id}/events`, 'find', { query: {} }],
        ['sweeps', 'create', {}],
        ['authentication', 'remove', null]
      ]
      for (const door of await open(scene.world.url, scene.key)) {
        for (const call of calls) {
          const mark = await scene.world.journalEnd()
          const title = `${door.transport} ${JSON.stringify(call)}`
          expect(told(await door.call(...call)), title).to.equal('403 token_scope')
          const rows = (await scene.world.journalSince(mark)).map(({ decision, reason_code }) => `${decision} ${reason_code}`)
          expect(rows, title).to.deep.equal(['deny token_scope'])
        }
      }
      expect(await everything()).to.deep.equal(before)
      expect((await client(scene.world.url, scene.key).get('/health')).status).to.equal(200)
      expect((await scene.executor({ agent: 'none-there-is' }).renew(lease)).status).to.equal(200)
    })

    it('J4: alone reach the leases: other keys, access tokens and task tokens are refused there, and nobody is not signed in', async () => {
      const { secret } = await scene.world.apiKey(scene.alice)
      const calls: Call[] = [
        ['leases', 'create', { executor }],
        ['leases', 'patch', lease.lease_id, {}]
      ]
      for (const token of [secret, scene.alice.token, lease.token])
        for (const door of await open(scene.world.url, token))
          for (const call of calls)
            expect(told(await door.call(...call)), `${door.transport} ${call[1]}`).to.equal('403 token_scope')
      const root = await scene.world.root.rest.post('/leases', { executor })
      expect(told(root)).to.equal('403 token_scope')
      for (const door of await open(scene.world.url))
        for (const call of calls) expect(told(await door.call(...call))).to.equal('401 not_authenticated')
    })

    it('are refused once they are removed, or their user is deactivated, also for a lease that is held', async () => {
      const carol = await scene.world.user('carol')
      const keyOf = async (person: Person): Promise<Body> =>
        made(person.rest.post('/api-keys', { name: 'an executor', scope: 'executor' }))
      const [removed, left] = [await keyOf(carol), await keyOf(carol)]
      const ask = async (key: Body) => {
        const answer = await client(scene.world.url, text(key, 'secret')).post('/leases', { executor })
        return `${answer.status} ${codeOf(answer) ?? ''}`.trim()
      }
      expect([await ask(removed), await ask(left)]).to.deep.equal(['204', '204'])
      await made(carol.rest.del(`/api-keys/${text(removed, 'api_key_id')}`))
      expect([await ask(removed), await ask(left)]).to.deep.equal(['401 not_authenticated', '204'])
      await made(scene.world.root.rest.patch(`/users/${carol.user_id}`, { active: false }))
      expect(await ask(left)).to.equal('401 not_authenticated')
    })

    it('leases have no other methods', async () => {
      const rest = client(scene.world.url, scene.key)
      const answers = [
        await rest.get('/leases'),
        await rest.get(`/leases/${lease.lease_id}`),
        await rest.del(`/leases/${lease.lease_id}`),
        await rest.put(`/leases/${lease.lease_id}`),
        await rest.patch('/leases')
      ]
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(5).fill(405))
    })

    /** What the calls would have changed, as Alice reads it. */
    async function everything(): Promise<Body[]> {
      const paths = [
        `/tasks/${lease.task_id}`,
        `/sessions/${lease.session_id}`,
        `/messages/${message_id}`,
        '/worktrees',
        '/grants'
      ]
      return Promise.all(paths.map((path) => made(scene.alice.rest.get(path))))
    }
  })
})

function recordCalls(service: string, id: string, patch: Body, create: Body): Call[] {
  return [
    [service, 'get', id],
    [service, 'patch', id, patch],
    [service, 'create', create],
    [service, 'remove', id]
  ]
}
