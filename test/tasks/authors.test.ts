import { expect } from 'chai'
import { rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { made, type Person } from '../support/world.js'
import { queueScene, report, type Executor, type Place, type QueueScene } from './queue-scene.js'

describe('the right of the author of a waiting task', function () {
  this.timeout(60_000)

  eachDatabase((database) => {
    let scene: QueueScene
    let names = 0

    before(async () => {
      scene = await queueScene((await database.start()).url)
    })

    /** Each takes what makes the difference, and only that. */
    const losses: Record<string, (bob: Person, place: Place, grant_id: string) => Promise<unknown>> = {
      'their grant is removed': (_bob, _place, grant_id) => made(scene.alice.rest.del(`/grants/${grant_id}`)),
      'their grant is lowered': (_bob, _place, grant_id) =>
        made(scene.alice.rest.patch(`/grants/${grant_id}`, { level: 'session' })),
      'they are deactivated': (bob) => made(scene.world.root.rest.patch(`/users/${bob.user_id}`, { active: false })),
      'they become a viewer': (bob) => made(scene.world.root.rest.patch(`/users/${bob.user_id}`, { role: 'viewer' }))
    }

    for (const [loss, take] of Object.entries(losses))
      it(`J7: when ${loss} it fails with not_allowed, visibly and in the journal, and the next one is given`, async () => {
        const place = await scene.place({ alone: true })
        const bob = await scene.world.user(`bob-${++names}`)
        const grant_id = await scene.world.grant(scene.alice, place.worktree_id, bob, 'prompt')
        const [bobs] = (await scene.tasks(place, 1, bob)) as [string]
        const [alices] = (await scene.tasks(place, 1)) as [string]
        await take(bob, place, grant_id)
        const mark = await scene.world.journalEnd()
        const lease = await scene.executor(place).take()
        expect([lease.task_id, lease.attempt]).to.deep.equal([alices, 1])

        const task = await scene.task(bobs)
        expect(task).to.include({ status: 'failed', attempt: 0, queue_position: null })
        expect((task['error'] as Body)['code']).to.equal('not_allowed')
        expect((task['error'] as Body)['message'])
          .to.be.a('string')
          .that.is.not.equal('')
        expect(task['because']).to.be.a('string').that.is.not.equal('waits for its turn')
        expect(task['completed_at']).to.be.a('string')
        const listed = rowsOf(await scene.alice.rest.get(`/tasks?session_id=${place.session_id}&status=failed`))
        expect(listed.map(({ task_id }) => task_id)).to.deep.equal([bobs])
        const last = (await scene.history(bobs)).at(-1)!
        expect([last['status'], last['by']]).to.deep.equal(['failed', null])
        const rows = (await scene.world.journalSince(mark)).filter(({ resource }) => resource.id === bobs)
        expect(rows.length, JSON.stringify(await scene.world.journalSince(mark))).to.be.greaterThan(0)
        await report(lease, 'running', 'completed')
      })

    it('when nothing else waits there is nothing to give, and the task has failed all the same', async () => {
      const place = await scene.place({ alone: true })
      const bob = await scene.world.user(`bob-${++names}`)
      const grant_id = await scene.world.grant(scene.alice, place.worktree_id, bob, 'prompt')
      const ids = await scene.tasks(place, 3, bob)
      await made(scene.alice.rest.del(`/grants/${grant_id}`))
      await scene.executor(place).takeNone()
      expect(await scene.statuses(ids)).to.deep.equal(['failed', 'failed', 'failed'])
    })

    it('when ten executors find it out at once it fails once, with one row in the journal', async () => {
      const place = await scene.place({ alone: true })
      const bob = await scene.world.user(`bob-${++names}`)
      const grant_id = await scene.world.grant(scene.alice, place.worktree_id, bob, 'prompt')
      const [task_id] = (await scene.tasks(place, 1, bob)) as [string]
      await made(scene.alice.rest.del(`/grants/${grant_id}`))
      const mark = await scene.world.journalEnd()
      const answers = await Promise.all(Array.from({ length: 10 }, () => scene.executor(place).lease()))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(10).fill(204))
      const rows = (await scene.world.journalSince(mark)).filter(({ resource }) => resource.id === task_id)
      expect(rows.length).to.equal(1)
      expect((await scene.history(task_id)).map(({ status }) => status)).to.deep.equal(['queued', 'failed'])
    })

    it('in a session of their own the session level is enough', async () => {
      const place = await scene.place({ alone: true })
      const bob = await scene.world.user(`bob-${++names}`)
      await scene.world.grant(scene.alice, place.worktree_id, bob, 'session')
      const own = await made(bob.rest.post('/sessions', { worktree_id: place.worktree_id, title: 'own', agent: place.agent }))
      const task_id = await scene.world.task(bob, String(own['session_id']))
      const lease = await scene.executor(place).take()
      expect(lease.task_id).to.equal(task_id)
      await report(lease, 'running', 'completed')
    })

    it('an executor’s key reaches no task where its own user could not prompt, and takes none from the queue', async () => {
      const place = await scene.place({ alone: true })
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const people = {
        stranger: await scene.world.user('stranger'),
        viewing: await scene.world.user('viewing'),
        beside: await scene.world.user('beside'),
        prompting: await scene.world.user('prompting'),
        'a viewer': await scene.world.user('demoted')
      }
      await scene.world.grant(scene.alice, place.worktree_id, people.viewing, 'view')
      await scene.world.grant(scene.alice, place.worktree_id, people.beside, 'session')
      await scene.world.grant(scene.alice, place.worktree_id, people.prompting, 'prompt')
      await scene.world.grant(scene.alice, place.worktree_id, people['a viewer'], 'all')
      const executors: Record<string, Executor> = {}
      for (const [name, person] of Object.entries(people))
        executors[name] = scene.executor(place, scene.world.url, await scene.executorKey(person))
      await made(scene.world.root.rest.patch(`/users/${people['a viewer'].user_id}`, { role: 'viewer' }))
      for (const name of ['stranger', 'viewing', 'beside', 'a viewer']) {
        const answer = await executors[name]!.lease()
        expect([answer.status, answer.body], name).to.deep.equal([204, {}])
      }
      expect(await scene.task(task_id)).to.include({ status: 'queued', attempt: 0 })
      expect((await executors['prompting']!.take()).task_id).to.equal(task_id)
    })
  })
})
