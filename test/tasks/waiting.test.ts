import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { client } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { eachStore } from '../support/stores.js'
import { made, text } from '../support/world.js'
import { EXECUTOR, queueScene, report, told, type QueueScene } from './queue-scene.js'

describe('an executor that waits for a task', function () {
  this.timeout(60_000)

  eachDatabase((database) => {
    let scene: QueueScene

    before(async () => {
      scene = await queueScene((await database.start()).url)
    })

    it('and goes away is given nothing: the next one gets the task, as its first attempt', async () => {
      const place = await scene.place()
      const gone = new AbortController()
      const request = fetch(`${scene.world.url}/leases`, {
        method: 'POST',
        signal: gone.signal,
        headers: { authorization: `Bearer ${scene.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ executor: { ...EXECUTOR, agents: [place.agent] }, wait_s: 25 })
      }).then(
        () => 'answered',
        () => 'gone'
      )
      await sleep(500)
      gone.abort()
      expect(await request).to.equal('gone')
      await sleep(500)
      const [task_id] = await scene.tasks(place, 1)
      await sleep(500)
      const lease = await scene.executor(place).take()
      expect([lease.task_id, lease.attempt]).to.deep.equal([task_id, 1])
      await report(lease, 'running', 'completed')
    })

    it('J7: whose key is removed meanwhile gets nothing', async () => {
      const place = await scene.place()
      const key = await made(scene.alice.rest.post('/api-keys', { name: 'short', scope: 'executor' }))
      const waiting = scene.executor(place, scene.world.url, text(key, 'secret')).lease(20)
      await sleep(300)
      await made(scene.alice.rest.del(`/api-keys/${text(key, 'api_key_id')}`))
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      expect(told(await waiting)).to.equal('401 not_authenticated')
      expect(await scene.task(task_id)).to.include({ status: 'queued', attempt: 0 })
    })

    it('holds up nobody else’s requests, with a hundred that wait', async () => {
      const place = await scene.place()
      const waiting = Array.from({ length: 100 }, () => scene.executor(place).lease(4))
      for (let n = 0; n < 20; n += 1) await made(scene.alice.rest.get('/sessions'))
      expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).to.deep.equal(new Set([204]))
    })
  })

  eachStore((kind) => {
    it('is told that there is none when the daemon stops, which ends as it should', async () => {
      const daemon = await (await kind.make()).start()
      const scene = await queueScene(daemon.url)
      const waiting = scene.executor(await scene.place()).lease(30)
      await sleep(300)
      await daemon.stop()
      expect((await waiting).status).to.equal(204)
    })

    it('G8: when the session is removed under it, a lease is over: no renewal, no report, no message, and nothing comes back', async () => {
      const daemon = await (await kind.make()).start()
      const scene = await queueScene(daemon.url)
      const place = await scene.place()
      await scene.tasks(place, 2)
      const executor = scene.executor(place)
      const lease = await executor.take()
      await report(lease, 'running')
      await made(scene.alice.rest.del(`/sessions/${place.session_id}`))
      expect((await executor.renew(lease)).status).to.be.oneOf([404, 409])
      const rest = client(daemon.url, lease.token)
      const { task_id, session_id } = lease
      const late = [
        await rest.patch(`/tasks/${task_id}`, { status: 'completed' }),
        await rest.post('/messages', { session_id, role: 'assistant', content: 'late' })
      ]
      expect(late.map(told)).to.deep.equal(['401 not_authenticated', '401 not_authenticated'])
      expect((await scene.alice.rest.get(`/tasks/${task_id}`)).status).to.equal(404)
      await executor.takeNone()
    })

    it('a task that its holder gives back waits again, and the lease is over', async () => {
      const daemon = await (await kind.make()).start({ STOA_LEASE_S: '2' })
      const scene = await queueScene(daemon.url)
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const executor = scene.executor(place)
      const first = await executor.take()
      await report(first, 'queued')
      expect(told(await first.rest.get(`/tasks/${task_id}`))).to.equal('401 not_authenticated')
      expect(told(await executor.renew(first))).to.equal('409 lease_held')
      expect(await scene.task(task_id)).to.include({ status: 'queued', queue_position: 1 })
      const second = await executor.take()
      await report(second, 'running')
      for (let n = 0; n < 8; n += 1) {
        await sleep(500)
        expect(told(await executor.renew(second))).to.equal('200 ok')
      }
      await report(second, 'completed')
      expect(await scene.task(task_id)).to.include({ status: 'completed' })
    })
  })
})
