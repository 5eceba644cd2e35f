import { expect } from 'chai'
import { client, type Client } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { eachStore, type Store } from '../support/stores.js'
import { made } from '../support/world.js'
import { executorOf, queueScene, report, told, untilExpired, type Lease, type Place, type QueueScene } from './queue-scene.js'

describe('a daemon that is killed while an executor holds a lease', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    let store: Store
    let daemon: Daemon
    let scene: QueueScene
    let place: Place
    let ids: string[]

    /** One task running under a lease, three behind it, and then a daemon that has just started again. */
    const killedWith = async (lease_s: number): Promise<Lease> => {
      const settings = { STOA_LEASE_S: String(lease_s) }
      store = await kind.make()
      daemon = await store.start(settings)
      scene = await queueScene(daemon.url)
      place = await scene.place()
      ids = await scene.tasks(place, 4)
      const lease = await scene.executor(place).take()
      await report(lease, 'running')
      await daemon.kill()
      daemon = await store.start(settings)
      return { ...lease, rest: client(daemon.url, lease.token) }
    }

    const alice = (): Client => client(daemon.url, scene.alice.token)
    const executor = () => executorOf(daemon.url, scene.key, [place.agent])
    const statusOf = async (id: string) => (await made(alice().get(`/tasks/${id}`)))['status']

    it('H2: it goes on: the renewal works, the task ends as reported, and the queued ones run in order, each once', async () => {
      const lease = await killedWith(60)
      expect(await statusOf(ids[0]!)).to.equal('running')
      const renewed = await executor().renew(lease)
      expect([told(renewed), renewed.body['stop_requested']]).to.deep.equal(['200 ok', false])
      await executor().takeNone()
      await report(lease, 'completed')
      expect(await runTheRest()).to.deep.equal(ids.slice(1).map((id) => `${id} 1`))
      for (const id of ids) expect(await statusOf(id)).to.equal('completed')
    })

    it('H2: when the executor is gone too its task is tried once more, flagged as such, before the queued ones', async () => {
      const lease = await killedWith(3)
      await untilExpired(lease)
      expect(told(await lease.rest.patch(`/tasks/${lease.task_id}`, { status: 'completed' }))).to.equal('401 not_authenticated')
      const again = await executor().lease(20)
      expect([again.status, again.body['attempt']]).to.deep.equal([201, 2])
      const { token, task } = again.body as unknown as Lease
      expect(task['task_id']).to.equal(ids[0])
      await report({ rest: client(daemon.url, token), task_id: ids[0]! }, 'running', 'completed')
      expect(await runTheRest()).to.deep.equal(ids.slice(1).map((id) => `${id} 1`))
    })

    /** Runs what is left, and says which attempt of which task it was. */
    async function runTheRest(): Promise<string[]> {
      const run: string[] = []
      for (;;) {
        const answer = await executor().lease()
        if (answer.status === 204) return run
        const { token, task, attempt } = answer.body as unknown as Lease
        const task_id = String(task['task_id'])
        run.push(`${task_id} ${attempt}`)
        await report({ rest: client(daemon.url, token), task_id }, 'running', 'completed')
      }
    }
  })
})
