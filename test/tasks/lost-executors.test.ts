import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { oneTo } from '../support/appending.js'
import { client, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { made } from '../support/world.js'
import { queueScene, report, told, untilExpired, type Lease, type QueueScene } from './queue-scene.js'

const LEASE_S = 2

describe('an executor that is not heard of any more', function () {
  this.timeout(120_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let scene: QueueScene

    before(async () => {
      scene = await queueScene((await database.start({ STOA_LEASE_S: String(LEASE_S) })).url)
    })

    const lateReport = { status: 'completed', observed_model: 'late', because: 'late' }

    /** Everything that the holder could still try, and what it is told. */
    const tries = async ({ rest, task_id, session_id }: Lease): Promise<string[]> => [
      told(await rest.patch(`/tasks/${task_id}`, lateReport)),
      told(await rest.post('/messages', { session_id, role: 'assistant', content: 'late' })),
      told(await rest.get(`/tasks/${task_id}`)),
      told(await rest.get(`/sessions/${session_id}`))
    ]
    const REFUSED = Array(4).fill('401 not_authenticated') as string[]

    it('H7: its token is refused at once, its task waits again, the next holder is the second attempt, and after that it has failed', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const executor = scene.executor(place)

      const first = await executor.take()
      await report(first, 'running')
      const doors = await open(scene.world.url, first.token)
      await untilExpired(first)
      expect(await tries(first)).to.deep.equal(REFUSED)
      for (const door of doors) expect(told(await door.call('tasks', 'get', task_id))).to.equal('401 not_authenticated')
      expect(told(await executor.renew(first))).to.equal('409 lease_held')

      const again = await scene.becomes(task_id, 'queued')
      expect(again).to.include({ attempt: 1, queue_position: 1, completed_at: null })
      expect(again['because']).to.be.a('string').that.is.not.equal('waits for its turn')

      const second = await executor.take()
      expect([second.task_id, second.attempt]).to.deep.equal([task_id, 2])
      expect(second.lease_id).to.not.equal(first.lease_id)
      expect(second.token).to.not.equal(first.token)
      await report(second, 'running')
      await untilExpired(second)
      expect(await tries(second)).to.deep.equal(REFUSED)
      const failed = await scene.becomes(task_id, 'failed')
      expect(failed).to.include({ attempt: 2, queue_position: null })
      expect((failed['error'] as Body)['code']).to.equal('executor_lost')
      expect(failed['completed_at']).to.be.a('string')
      expect(failed['because']).to.be.a('string').that.is.not.equal('')
      await executor.takeNone()
    })

    it('H7: a late report of the first holder is refused while the second one has the task, and changes nothing', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const executor = scene.executor(place)
      const first = await executor.take()
      await report(first, 'running')
      await untilExpired(first)
      await scene.becomes(task_id, 'queued')
      const second = await executor.take()
      await report(second, 'running')
      const before = await scene.task(task_id)
      expect(await tries(first)).to.deep.equal(REFUSED)
      expect(told(await executor.renew(first))).to.equal('409 lease_held')
      expect(await scene.task(task_id)).to.deep.equal(before)
      await made(second.rest.patch(`/tasks/${task_id}`, { status: 'completed', observed_model: 'of the second' }))
      expect(await tries(first)).to.deep.equal(REFUSED)
      expect(await scene.task(task_id)).to.include({ status: 'completed', attempt: 2, observed_model: 'of the second' })
      expect((await made(scene.alice.rest.get(`/messages?session_id=${place.session_id}`)))['total']).to.equal(0)
    })

    it('is not lost as long as it renews, however long its task takes', async () => {
      const place = await scene.place()
      await scene.tasks(place, 1)
      const executor = scene.executor(place)
      const lease = await executor.take()
      await report(lease, 'running')
      for (const _ of oneTo(3 * LEASE_S * 2)) {
        await sleep(500)
        expect(told(await executor.renew(lease))).to.equal('200 ok')
      }
      await report(lease, 'completed')
      expect(await scene.task(lease.task_id)).to.include({ status: 'completed', attempt: 1 })
    })

    it('leaves its task to anybody: when it waits again a person may report it', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const lease = await scene.executor(place).take()
      const patch = (status: string) => scene.alice.rest.patch(`/tasks/${task_id}`, { status })
      expect(told(await patch('running'))).to.equal('409 lease_held')
      await untilExpired(lease)
      await scene.becomes(task_id, 'queued')
      expect([told(await patch('running')), told(await patch('completed'))]).to.deep.equal(['200 ok', '200 ok'])
      await scene.executor(place).takeNone()
    })

    it('I3: does not hold up its session: the prompts behind it still run, in order', async () => {
      const place = await scene.place()
      const [lost, ...rest] = (await scene.tasks(place, 3)) as [string, string, string]
      const executor = scene.executor(place)
      for (const attempt of [1, 2]) {
        const lease = await executor.take(20)
        expect([lease.task_id, lease.attempt]).to.deep.equal([lost, attempt])
        await report(lease, 'running')
        await untilExpired(lease)
      }
      for (const next of rest) {
        const lease = await executor.take(20)
        expect([lease.task_id, lease.attempt]).to.deep.equal([next, 1])
        await report(lease, 'running', 'completed')
      }
      expect(await scene.statuses([lost, ...rest])).to.deep.equal(['failed', 'completed', 'completed'])
    })

    it('a direct report without a lease is never taken for a lost executor', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      await made(scene.alice.rest.patch(`/tasks/${task_id}`, { status: 'running' }))
      await sleep(LEASE_S * 2000)
      expect(await scene.task(task_id)).to.include({ status: 'running', attempt: 0 })
    })

    it('J7: whose author may not prompt there any more has its next report refused, and its task ends with a reason', async () => {
      const place = await scene.place({ alone: true })
      const bob = await scene.world.user('bob')
      const grant_id = await scene.world.grant(scene.alice, place.worktree_id, bob, 'prompt')
      const [task_id] = (await scene.tasks(place, 1, bob)) as [string]
      const executor = scene.executor(place)
      const lease = await executor.take()
      await report(lease, 'running')
      await made(scene.alice.rest.patch(`/grants/${grant_id}`, { level: 'view' }))
      const report1 = await lease.rest.patch(`/tasks/${task_id}`, { status: 'completed' })
      expect(told(report1)).to.equal('403 level_too_low')
      await made(scene.alice.rest.del(`/grants/${grant_id}`))
      const report2 = await lease.rest.patch(`/tasks/${task_id}`, { status: 'completed' })
      const message = await lease.rest.post('/messages', { session_id: place.session_id, role: 'assistant', content: 'x' })
      expect([told(report2), told(message)]).to.deep.equal(['404 not_found', '404 not_found'])
      await untilExpired(lease)
      // Waiting again or ended already: nobody gets it.
      await sleep(LEASE_S * 1000)
      await executor.takeNone()
      const ended = await scene.becomes(task_id, 'failed')
      expect((ended['error'] as Body)['code']).to.be.oneOf(['not_allowed', 'executor_lost'])
      expect((await made(scene.alice.rest.get(`/messages?session_id=${place.session_id}`)))['total']).to.equal(0)
      expect(told(await client(scene.world.url, lease.token).get(`/tasks/${task_id}`))).to.equal('401 not_authenticated')
    })
  })
})
