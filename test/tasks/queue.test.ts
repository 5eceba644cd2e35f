import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { oneTo } from '../support/appending.js'
import { client, rowsOf } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { made } from '../support/world.js'
import { EXECUTOR, executorOf, leaseOf, queueScene, report, told, type QueueScene } from './queue-scene.js'

const ROUNDS = 20

describe('the queue', function () {
  this.timeout(120_000)

  eachDatabase((database) => {
    let scene: QueueScene

    before(async () => {
      scene = await queueScene((await database.start()).url)
    })

    it('A4: a session gives one task at a time, in the order they were made, whatever the one that is under way waits for', async () => {
      const place = await scene.place()
      const executor = scene.executor(place)
      const [first, second, third] = (await scene.tasks(place, 3)) as [string, string, string]
      const lease = await executor.take()
      expect(lease.task_id).to.equal(first)
      await executor.takeNone()
      for (const status of ['running', 'awaiting_permission', 'running']) {
        await report(lease, status)
        await executor.takeNone()
      }
      await made(scene.alice.rest.post(`/tasks/${first}/stop`))
      expect(await scene.statuses([first, second, third])).to.deep.equal(['stopping', 'queued', 'queued'])
      await executor.takeNone()
      await report(lease, 'stopped')
      for (const next of [second, third]) {
        const taken = await executor.take()
        expect(taken.task_id).to.equal(next)
        await executor.takeNone()
        await report(taken, 'running', 'completed')
      }
      await executor.takeNone()
    })

    it('gives the oldest task of all sessions that have none under way', async () => {
      const one = await scene.place()
      const [two, three] = [await scene.beside(one), await scene.beside(one)]
      const ids: string[] = []
      for (const place of [one, one, two, three, two]) ids.push(...(await scene.tasks(place, 1)))
      const executor = scene.executor(one)
      const first = [await executor.take(), await executor.take(), await executor.take()]
      expect(first.map(({ task_id }) => task_id)).to.deep.equal([ids[0], ids[2], ids[3]])
      await executor.takeNone()
      await report(first[1]!, 'running', 'completed')
      await report(first[0]!, 'running', 'failed')
      expect([(await executor.take()).task_id, (await executor.take()).task_id]).to.deep.equal([ids[1], ids[4]])
      await executor.takeNone()
    })

    it('gives a task to an executor that can run its agent only, and one without an agent to any', async () => {
      const [one, other] = [await scene.place(), await scene.place()]
      const [task_id] = await scene.tasks(one, 1)
      const [others] = await scene.tasks(other, 1)
      await scene.executor({ agent: 'unheard-of' }).takeNone()
      await executorOf(scene.world.url, scene.key, []).takeNone()
      expect((await scene.executor(other).take()).task_id).to.equal(others)
      await scene.executor(other).takeNone()
      expect((await executorOf(scene.world.url, scene.key, ['unheard-of', one.agent]).take()).task_id).to.equal(task_id)
      const session_id = await scene.world.session(scene.alice, one.worktree_id)
      const any = [await scene.world.task(scene.alice, session_id), await scene.world.task(scene.alice, session_id)]
      for (const [index, agents] of [[], ['unheard-of']].entries()) {
        const lease = await executorOf(scene.world.url, scene.key, agents).take()
        expect([lease.task_id, lease.task['agent']]).to.deep.equal([any[index], null])
        await report(lease, 'running', 'completed')
      }
    })

    it('a task for another agent holds up the session that it is next in, and no other', async () => {
      const place = await scene.place()
      const mixed = await scene.beside(place)
      const { task_id } = await made(
        scene.alice.rest.post('/tasks', { session_id: mixed.session_id, prompt: 'x', agent: 'someone-else' })
      )
      const [behind] = await scene.tasks(mixed, 1)
      const [free] = await scene.tasks(place, 1)
      const executor = scene.executor(place)
      expect((await executor.take()).task_id).to.equal(free)
      await executor.takeNone()
      const other = await scene.executor({ agent: 'someone-else' }).take()
      expect(other.task_id).to.equal(task_id)
      await report(other, 'running', 'completed')
      expect((await executor.take()).task_id).to.equal(behind)
    })

    it('who waits gets a task that is made meanwhile, one each, and who waits in vain is told so', async () => {
      const place = await scene.place()
      const other = await scene.beside(place)
      const executor = scene.executor(place)
      const waiting = [executor.lease(25), executor.lease(25)]
      const vain = scene.executor({ agent: 'nobody-asks-for' }).lease(1)
      await sleep(300)
      const ids = [...(await scene.tasks(place, 1)), ...(await scene.tasks(other, 1))]
      const leases = (await Promise.all(waiting)).map((answer) => leaseOf(scene.world.url, answer))
      expect(leases.map(({ task_id }) => task_id).sort()).to.deep.equal(ids)
      expect((await vain).status).to.equal(204)
    })

    it('who waits gets the next task of a session when the one before it ends', async () => {
      const place = await scene.place()
      const [, second] = await scene.tasks(place, 2)
      const executor = scene.executor(place)
      const lease = await executor.take()
      const waiting = executor.take(25)
      await sleep(200)
      await report(lease, 'running', 'completed')
      expect((await waiting).task_id).to.equal(second)
    })

    it('a request that is not one is refused and takes nothing', async () => {
      const place = await scene.place()
      await scene.tasks(place, 1)
      const rest = client(scene.world.url, scene.key)
      const executor = { ...EXECUTOR, agents: [place.agent] }
      const bodies = [
        {},
        { executor: { ...executor, agents: place.agent } },
        { executor: { ...executor, name: '' } },
        { executor: { ...executor, pid: 'x' } },
        { executor, wait_s: 31 },
        { executor, wait_s: -1 },
        { executor, wait_s: 'x' },
        { executor, session_id: place.session_id }
      ]
      for (const body of bodies) expect((await rest.post('/leases', body)).status, JSON.stringify(body)).to.equal(400)
      expect((await scene.executor(place).take()).attempt).to.equal(1)
    })

    it('I2: 25 prompts while busy are all queued, at their place, and all run in the end, in order', async () => {
      const place = await scene.place()
      const executor = scene.executor(place)
      const [busy] = await scene.tasks(place, 1)
      let lease = await executor.take()
      const answers = await Promise.all(
        oneTo(25).map((n) => scene.alice.rest.post('/tasks', { session_id: place.session_id, prompt: `prompt ${n}` }))
      )
      expect(answers.map(told)).to.deep.equal(Array(25).fill('201 ok'))
      const query = `?session_id=${place.session_id}&status=queued&$sort[task_id]=1`
      const queued = rowsOf(await scene.alice.rest.get(`/tasks${query}`))
      expect(queued.map((task) => task['queue_position'])).to.deep.equal(oneTo(25))
      const run = [busy]
      for (const task of queued) {
        await report(lease, 'running', 'completed')
        lease = await executor.take()
        run.push(String(task['task_id']))
        expect(lease.task_id).to.equal(run.at(-1))
      }
      await report(lease, 'running', 'completed')
      expect(await scene.statuses(run as string[])).to.deep.equal(Array(26).fill('completed'))
    })

    it('a direct report of a second task in a session is refused while one is under way, leased or not', async () => {
      const place = await scene.place()
      const [first, second, third] = (await scene.tasks(place, 3)) as [string, string, string]
      const executor = scene.executor(place)
      const patch = (id: string, status: string) => scene.alice.rest.patch(`/tasks/${id}`, { status })
      const lease = await executor.take()
      expect(told(await patch(second, 'running'))).to.equal('409 illegal_transition')
      await report(lease, 'running', 'completed')
      expect(told(await patch(second, 'running'))).to.equal('200 ok')
      expect(told(await patch(third, 'running'))).to.equal('409 illegal_transition')
      await executor.takeNone()
      expect(await scene.statuses([first, second, third])).to.deep.equal(['completed', 'running', 'queued'])
      expect(told(await patch(second, 'completed'))).to.equal('200 ok')
      expect((await executor.take()).task_id).to.equal(third)
    })

    it(`of two direct reports and a lease in one session at once exactly one wins, ${ROUNDS} times`, async () => {
      const place = await scene.place()
      const executor = scene.executor(place)
      for (const round of oneTo(ROUNDS)) {
        const at = await scene.beside(place)
        const [first, second] = (await scene.tasks(at, 2)) as [string, string]
        const direct = (id: string) => scene.alice.rest.patch(`/tasks/${id}`, { status: 'running' })
        const answers = await Promise.all([direct(second), executor.lease(), direct(first)])
        const won = answers.filter(({ status }) => status === 200 || status === 201)
        expect(won.length, `round ${round}: ${answers.map(told).join()}`).to.equal(1)
        const active = (await scene.statuses([first, second])).filter((status) => status !== 'queued')
        expect(active.length, `round ${round}`).to.equal(1)
        for (const id of [first, second]) await scene.alice.rest.post(`/tasks/${id}/stop`)
        const lease = answers[1]!.status === 201 ? leaseOf(scene.world.url, answers[1]!) : null
        if (lease) await report(lease, 'stopped')
      }
    })
  })
})
