import { expect } from 'chai'
import { client, type Answer } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, type Call } from '../support/doors.js'
import { made, text } from '../support/world.js'
import { queueScene, report, told, type QueueScene } from './queue-scene.js'

describe('a lease', function () {
  this.timeout(60_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let scene: QueueScene

    before(async () => {
      scene = await queueScene((await database.start()).url)
    })

    const leased = async () => {
      const place = await scene.place()
      await scene.tasks(place, 1)
      const executor = scene.executor(place)
      return { place, executor, lease: await executor.take() }
    }

    it('answers the task, its session and its worktree as its author reads them, a token and when it ends', async () => {
      const place = await scene.place()
      const bob = await scene.world.user('bob')
      await scene.world.grant(scene.alice, place.worktree_id, bob, 'prompt')
      const [task_id] = await scene.tasks(place, 1, bob)
      const before = Date.now()
      const { status, body } = await scene.executor(place).lease()
      expect(status).to.equal(201)
      expect(body).to.have.all.keys('lease_id', 'attempt', 'expires_at', 'token', 'task', 'session', 'worktree')
      expect(body['lease_id']).to.match(UUID)
      expect(body['attempt']).to.equal(1)
      expect(body['token']).to.match(/^stoa_task_/)
      expect(Date.parse(text(body, 'expires_at'))).to.be.within(before + 29_000, Date.now() + 31_000)
      for (const path of [`tasks/${task_id}`, `sessions/${place.session_id}`, `worktrees/${place.worktree_id}`]) {
        const kind = path.split('s/')[0]!
        expect(body[kind], kind).to.deep.equal(await made(bob.rest.get(`/${path}`)))
      }
      const task = await scene.task(task_id!)
      expect(task).to.include({ status: 'dispatching', attempt: 1, queue_position: null, started_at: null })
      expect(task['executor_id']).to.match(UUID)
      expect(task['because']).to.be.a('string').that.is.not.equal('waits for its turn')
    })

    it('D7: its token reports its task and writes into its session, and does nothing else', async () => {
      const { place, lease } = await leased()
      const [beside] = await scene.tasks(place, 1)
      const elsewhere = await scene.beside(place)
      const [foreign] = await scene.tasks(elsewhere, 1)
      const { session_id, task_id } = lease
      const message = (where: string) => ({ session_id: where, role: 'assistant', content: 'x' })
      const outside: Call[] = [
        ['tasks', 'patch', beside, { status: 'running' }],
        ['tasks', 'patch', foreign, { status: 'running' }],
        ['tasks', 'get', foreign],
        ['tasks', 'create', { session_id, prompt: 'x' }],
        ['tasks', 'remove', task_id],
        [`tasks/${task_id}/token`, 'create', {}],
        [`tasks/${task_id}/stop`, 'create', {}],
        ['messages', 'create', message(elsewhere.session_id)],
        ['sessions', 'get', elsewhere.session_id],
        ['sessions', 'patch', session_id, { title: 'x' }],
        ['worktrees', 'patch', place.worktree_id, { name: 'x' }],
        ['api-keys', 'create', { name: 'x' }],
        ['leases', 'create', { executor: { name: 'x', host: 'x', pid: 1, version: '1', agents: [place.agent] } }],
        ['leases', 'patch', lease.lease_id, {}]
      ]
      for (const door of await open(scene.world.url, lease.token)) {
        for (const call of outside)
          expect(told(await door.call(...call)), `${door.transport} ${JSON.stringify(call)}`).to.equal('403 token_scope')
        expect((await door.call('messages', 'create', message(session_id))).status).to.equal(201)
      }
      await report(lease, 'running')
      await report(lease, 'completed')
      expect(await scene.task(task_id)).to.include({ status: 'completed', attempt: 1 })
    })

    for (const status of ['completed', 'failed', 'stopped', 'timed_out'])
      it(`ends, and its token with it, when its task is ${status}; a renewal then finds it ended`, async () => {
        const { executor, lease } = await leased()
        await report(lease, 'running', status)
        const { rest, task_id, session_id } = lease
        const message = { session_id, role: 'assistant', content: 'late' }
        const late = [
          await rest.patch(`/tasks/${task_id}`, { status }),
          await rest.post('/messages', message),
          await rest.get(`/tasks/${task_id}`)
        ]
        expect(late.map(told)).to.deep.equal(Array(3).fill('401 not_authenticated'))
        expect(told(await executor.renew(lease))).to.equal('409 lease_held')
      })

    it('a renewal puts its end off and says that nobody asked to stop, with progress or without', async () => {
      const { executor, lease } = await leased()
      let end = Date.parse(lease.expires_at)
      for (const body of [{}, { progress: { done: 1, of: 2 } }, {}]) {
        const answer = await executor.renew(lease, body)
        expect(told(answer)).to.equal('200 ok')
        const { expires_at, ...rest } = answer.body
        expect(rest).to.deep.equal({ lease_id: lease.lease_id, task_id: lease.task_id, stop_requested: false })
        expect(Date.parse(String(expires_at))).to.be.greaterThanOrEqual(end)
        end = Date.parse(String(expires_at))
      }
      expect(end).to.be.greaterThan(Date.parse(lease.expires_at))
      expect(await scene.task(lease.task_id)).to.deep.equal(lease.task)
      for (const body of [{ progress: 'half' }, { expires_at: '2099-01-01T00:00:00.000Z' }, { lease_id: absentId() }])
        expect((await executor.renew(lease, body)).status, JSON.stringify(body)).to.equal(400)
    })

    it('is renewed with any executor’s key of the same user, and is not found with somebody else’s, an admin’s either', async () => {
      const { place, lease } = await leased()
      const again = scene.executor(place, scene.world.url, await scene.executorKey(scene.alice))
      expect(told(await again.renew(lease))).to.equal('200 ok')
      for (const person of [await scene.world.user('carol'), scene.world.root]) {
        const theirs = scene.executor(place, scene.world.url, await scene.executorKey(person))
        expect(told(await theirs.renew(lease)), person.name).to.equal('404 not_found')
        expect(told(await theirs.renew({ lease_id: absentId() })), person.name).to.equal('404 not_found')
        await report(lease, 'running')
        expect(told(await theirs.renew(lease)), person.name).to.equal('404 not_found')
      }
      await report(lease, 'completed')
      const stranger = scene.executor(place, scene.world.url, await scene.executorKey(scene.world.root))
      expect(told(await stranger.renew(lease)), 'ended').to.equal('404 not_found')
    })

    it('while it is held nobody else reports: neither a person nor another token of the same task', async () => {
      const { place, lease } = await leased()
      const { task_id } = lease
      const [second] = await scene.tasks(place, 1)
      const others = [scene.alice.rest, client(scene.world.url, (await scene.world.apiKey(scene.alice)).secret)]
      const token = await scene.alice.rest.post(`/tasks/${task_id}/token`)
      if (token.status === 201) others.push(client(scene.world.url, text(token.body, 'token')))
      const refused = async () => {
        const before = await scene.task(task_id)
        const answers: Answer[] = []
        for (const rest of others)
          for (const body of [{ status: 'running' }, { status: 'completed' }, { observed_model: 'another' }, { because: 'x' }])
            answers.push(await rest.patch(`/tasks/${task_id}`, body))
        expect(answers.map(told)).to.deep.equal(answers.map(() => '409 lease_held'))
        expect(await scene.task(task_id)).to.deep.equal(before)
      }
      await refused()
      await report(lease, 'running')
      await refused()
      await report(lease, 'completed')
      const repeated = await scene.alice.rest.patch(`/tasks/${task_id}`, { status: 'completed' })
      const changed = await scene.alice.rest.patch(`/tasks/${task_id}`, { status: 'failed' })
      expect([told(repeated), told(changed)]).to.deep.equal(['200 ok', '409 illegal_transition'])
      expect(told(await scene.alice.rest.patch(`/tasks/${second}`, { status: 'running' }))).to.equal('200 ok')
    })

    it('a token that was given out before the lease does not report while it is held', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const early = client(scene.world.url, await scene.world.taskToken(scene.alice, task_id))
      const lease = await scene.executor(place).take()
      expect(told(await early.patch(`/tasks/${task_id}`, { status: 'running' }))).to.be.oneOf([
        '409 lease_held',
        '401 not_authenticated'
      ])
      expect(await scene.task(task_id)).to.include({ status: 'dispatching' })
      await report(lease, 'running', 'completed')
    })

    it('gives its token and its key to nobody else: not in the task, its events, the journal, the log or the database', async () => {
      const daemon = await database.start()
      const other = await queueScene(daemon.url)
      const place = await other.place()
      await other.tasks(place, 1)
      const executor = other.executor(place)
      const lease = await executor.take()
      await made(executor.renew(lease))
      await report(lease, 'running')
      const said = [
        JSON.stringify([await other.task(lease.task_id), await other.history(lease.task_id), await other.world.journalSince(0)]),
        await daemon.log(),
        daemon.said(),
        await daemon.stored()
      ]
      for (const secret of [lease.token, other.key])
        expect(said.map((words) => words.includes(secret))).to.deep.equal([false, false, false, false])
    })
  })
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
