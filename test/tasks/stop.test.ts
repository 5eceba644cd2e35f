import { expect } from 'chai'
import { oneTo } from '../support/appending.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper } from '../support/doors.js'
import { made, type Person } from '../support/world.js'
import { queueScene, report, told, untilExpired, type QueueScene } from './queue-scene.js'

const ROUNDS = 20

describe('stopping a task', function () {
  this.timeout(120_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let scene: QueueScene

    before(async () => {
      scene = await queueScene((await database.start()).url)
    })

    const stop = (task_id: string, by: Person = scene.alice) => by.rest.post(`/tasks/${task_id}/stop`)

    it('one that waits is stopped at once, is given to nobody, and does not hold up those behind it', async () => {
      const place = await scene.place()
      const [first, second, third] = (await scene.tasks(place, 3)) as [string, string, string]
      const executor = scene.executor(place)
      for (const task_id of [first, second]) {
        const answer = await stop(task_id)
        expect(answer.status).to.equal(201)
        expect(answer.body).to.deep.equal(await scene.task(task_id))
        expect(answer.body).to.include({ status: 'stopped', attempt: 0, queue_position: null })
        expect(answer.body['completed_at']).to.be.a('string')
        expect(answer.body['because']).to.be.a('string').that.is.not.equal('waits for its turn')
      }
      expect((await scene.task(third))['queue_position']).to.equal(1)
      const lease = await executor.take()
      expect(lease.task_id).to.equal(third)
      await report(lease, 'running', 'completed')
      await executor.takeNone()
    })

    it('one in the middle of the queue leaves the others in their order', async () => {
      const place = await scene.place()
      const [first, second, third] = (await scene.tasks(place, 3)) as [string, string, string]
      const executor = scene.executor(place)
      const lease = await executor.take()
      await made(stop(second))
      await report(lease, 'running', 'completed')
      expect((await executor.take()).task_id).to.equal(third)
      expect(await scene.statuses([first, second, third])).to.deep.equal(['completed', 'stopped', 'dispatching'])
    })

    for (const reached of [[], ['running'], ['running', 'awaiting_permission']])
      it(`one that is ${reached.at(-1) ?? 'dispatching'} is stopping, its executor hears of it at the next renewal, and it ends as reported`, async () => {
        const place = await scene.place()
        const [task_id, next] = (await scene.tasks(place, 2)) as [string, string]
        const executor = scene.executor(place)
        const lease = await executor.take()
        await report(lease, ...reached)
        expect((await executor.renew(lease)).body['stop_requested']).to.equal(false)
        const answer = await stop(task_id)
        expect(answer.status).to.equal(201)
        expect(answer.body).to.deep.equal(await scene.task(task_id))
        expect(answer.body).to.include({ status: 'stopping', completed_at: null })
        for (const _ of oneTo(2)) expect((await executor.renew(lease)).body['stop_requested']).to.equal(true)
        const again = await stop(task_id)
        expect(again.status).to.be.oneOf([200, 201])
        expect(again.body).to.deep.equal(answer.body)
        await report(lease, 'stopped')
        expect(await scene.statuses([task_id, next])).to.deep.equal(['stopped', 'queued'])
        expect(told(await executor.renew(lease))).to.equal('409 lease_held')
        expect((await executor.take()).task_id).to.equal(next)
      })

    it('one that is stopping cannot go on: it only ends, and may still be completed', async () => {
      const place = await scene.place()
      await scene.tasks(place, 1)
      const lease = await scene.executor(place).take()
      await report(lease, 'running')
      await made(stop(lease.task_id))
      for (const status of ['running', 'awaiting_permission', 'queued', 'dispatching']) {
        const answer = await lease.rest.patch(`/tasks/${lease.task_id}`, { status })
        expect(told(answer), status).to.equal('409 illegal_transition')
      }
      await report(lease, 'completed')
      expect(told(await stop(lease.task_id))).to.equal('409 illegal_transition')
    })

    for (const status of ['completed', 'failed', 'stopped', 'timed_out'])
      it(`one that is ${status} is refused and stays as it is`, async () => {
        const place = await scene.place()
        const [task_id] = (await scene.tasks(place, 1)) as [string]
        for (const next of ['running', status]) await made(scene.alice.rest.patch(`/tasks/${task_id}`, { status: next }))
        const before = await scene.task(task_id)
        expect(told(await stop(task_id))).to.equal('409 illegal_transition')
        expect(await scene.task(task_id)).to.deep.equal(before)
      })

    it('one that was reported without a lease is stopping until whoever runs it says so', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      await made(scene.alice.rest.patch(`/tasks/${task_id}`, { status: 'running' }))
      expect((await made(stop(task_id)))['status']).to.equal('stopping')
      await made(scene.alice.rest.patch(`/tasks/${task_id}`, { status: 'stopped' }))
      expect((await scene.task(task_id))['status']).to.equal('stopped')
    })

    it('asks for what a report asks for: prompt, in an own session the session level; others are told what they lack, strangers nothing', async () => {
      const place = await scene.place({ alone: true })
      const [viewer, keeper, prompter, stranger] = [
        await scene.world.user('viewer'),
        await scene.world.user('keeper'),
        await scene.world.user('prompter'),
        await scene.world.user('stranger')
      ] as [Person, Person, Person, Person]
      await scene.world.grant(scene.alice, place.worktree_id, viewer, 'view')
      await scene.world.grant(scene.alice, place.worktree_id, keeper, 'session')
      await scene.world.grant(scene.alice, place.worktree_id, prompter, 'prompt')
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      expect(told(await stop(task_id, viewer))).to.equal('403 level_too_low')
      expect(told(await stop(task_id, keeper))).to.equal('403 level_too_low')
      expect([told(await stop(task_id, stranger)), told(await stop(absentId()))]).to.deep.equal([
        '404 not_found',
        '404 not_found'
      ])
      expect((await scene.task(task_id))['status']).to.equal('queued')
      expect(told(await stop(task_id, prompter))).to.equal('201 ok')
      const own = await scene.world.task(keeper, await scene.world.session(keeper, place.worktree_id))
      expect(told(await stop(own, keeper))).to.equal('201 ok')
    })

    it('works over a socket too, and takes no fields', async () => {
      const place = await scene.place()
      const [first, second] = (await scene.tasks(place, 2)) as [string, string]
      const socket = (await open(scene.world.url, scene.alice.token))[1]!
      expect((await socket.call(`tasks/${first}/stop`, 'create', {})).body['status']).to.equal('stopped')
      expect((await scene.alice.rest.post(`/tasks/${second}/stop`, { status: 'completed' })).status).to.equal(400)
      expect(await scene.statuses([first, second])).to.deep.equal(['stopped', 'queued'])
    })

    it(`at the same moment as the end of the task leaves one end, which both are told, ${ROUNDS} times`, async () => {
      const place = await scene.place()
      const executor = scene.executor(place)
      for (const round of oneTo(ROUNDS)) {
        const [task_id] = (await scene.tasks(place, 1)) as [string]
        const lease = await executor.take()
        await report(lease, 'running')
        const [stopped, completed] = await Promise.all([
          stop(task_id),
          lease.rest.patch(`/tasks/${task_id}`, { status: 'completed' })
        ])
        expect(told(completed), `round ${round}`).to.equal('200 ok')
        expect(told(stopped), `round ${round}`).to.be.oneOf(['201 ok', '409 illegal_transition'])
        const ends = (await scene.history(task_id)).map((event) => String(event['status']))
        const asked = stopped.status === 201 ? ['stopping'] : []
        expect(ends, `round ${round}`).to.deep.equal(['queued', 'dispatching', 'running', ...asked, 'completed'])
        expect((await scene.task(task_id))['status']).to.equal('completed')
      }
    })

    it(`by several at once is one change, ${ROUNDS} times`, async () => {
      const place = await scene.place()
      const executor = scene.executor(place)
      for (const round of oneTo(ROUNDS)) {
        const [task_id] = (await scene.tasks(place, 1)) as [string]
        const lease = await executor.take()
        const answers = await Promise.all(oneTo(4).map(() => stop(task_id)))
        for (const { status, body } of answers) {
          expect(status, `round ${round}`).to.be.oneOf([200, 201])
          expect(body, `round ${round}`).to.deep.equal(answers[0]!.body)
        }
        await report(lease, 'stopped')
        const events = (await scene.history(task_id)).map(({ status }) => status)
        expect(events, `round ${round}`).to.deep.equal(['queued', 'dispatching', 'stopping', 'stopped'])
      }
    })

    it(`at the same moment as a lease of the task stops it or asks its executor to, ${ROUNDS} times`, async () => {
      const place = await scene.place()
      const executor = scene.executor(place)
      for (const round of oneTo(ROUNDS)) {
        const [task_id] = (await scene.tasks(place, 1)) as [string]
        const [stopped, answer] = await Promise.all([stop(task_id), executor.lease()])
        expect(told(stopped), `round ${round}`).to.equal('201 ok')
        const { status } = await scene.task(task_id)
        expect(status, `round ${round}`).to.equal(answer.status === 201 ? 'stopping' : 'stopped')
        if (answer.status !== 201) continue
        const lease = { lease_id: String(answer.body['lease_id']) }
        expect((await executor.renew(lease)).body['stop_requested']).to.equal(true)
        const { token } = answer.body as { token: string }
        const [door] = await open(scene.world.url, token)
        await made(door!.call('tasks', 'patch', task_id, { status: 'stopped' }))
      }
    })

    it('I3: one whose executor is lost while it is stopping is stopped, not tried again, and the next one runs', async () => {
      const hasty = await queueScene((await database.start({ STOA_LEASE_S: '2' })).url)
      const place = await hasty.place()
      const [task_id, next] = (await hasty.tasks(place, 2)) as [string, string]
      const executor = hasty.executor(place)
      const lease = await executor.take()
      await report(lease, 'running')
      await made(hasty.alice.rest.post(`/tasks/${task_id}/stop`))
      await untilExpired(lease)
      const stopped = await hasty.becomes(task_id, 'stopped')
      expect(stopped).to.include({ attempt: 1 })
      expect(stopped['completed_at']).to.be.a('string')
      expect((await executor.take(10)).task_id).to.equal(next)
    })
  })
})
