import { expect } from 'chai'
import { oneTo } from '../support/appending.js'
import { client, rowsOf } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, withoutIds } from '../support/doors.js'
import { made } from '../support/world.js'
import { queueScene, report, told, untilExpired, type QueueScene } from './queue-scene.js'

describe('the events of a task', function () {
  this.timeout(60_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let scene: QueueScene

    before(async () => {
      scene = await queueScene((await database.start({ STOA_LEASE_S: '2' })).url)
    })

    it('are one per change of status, in order, with who did it, and none for anything else', async () => {
      const place = await scene.place()
      const bob = await scene.world.user('bob')
      await scene.world.grant(scene.alice, place.worktree_id, bob, 'prompt')
      const [task_id] = (await scene.tasks(place, 1, bob)) as [string]
      const lease = await scene.executor(place).take()
      await report(lease, 'running', 'running', 'awaiting_permission', 'running')
      await made(lease.rest.patch(`/tasks/${task_id}`, { observed_model: 'm', because: 'thinking' }))
      await made(scene.executor(place).renew(lease, { progress: { at: 1 } }))
      await made(scene.alice.rest.post(`/tasks/${task_id}/stop`))
      await made(scene.alice.rest.post(`/tasks/${task_id}/stop`))
      expect((await scene.alice.rest.patch(`/tasks/${task_id}`, { status: 'failed' })).status).to.equal(409)
      await report(lease, 'stopped')
      const page = await made(scene.alice.rest.get(`/tasks/${task_id}/events`))
      expect(page).to.include({ total: 7, skip: 0 })
      const events = rowsOf(await scene.alice.rest.get(`/tasks/${task_id}/events`))
      for (const event of events) expect(event).to.have.all.keys('seq', 'at', 'by', 'status', 'attempt')
      expect(events.map(({ status, attempt }) => [status, attempt])).to.deep.equal([
        ['queued', 0],
        ['dispatching', 1],
        ['running', 1],
        ['awaiting_permission', 1],
        ['running', 1],
        ['stopping', 1],
        ['stopped', 1]
      ])
      const by = events.map((event) => event['by'])
      expect([by[0], ...by.slice(2, 5), by[6]]).to.deep.equal(Array(5).fill(bob.user_id))
      expect(by[5]).to.equal(scene.alice.user_id)
      const [seqs, times] = [events.map(({ seq }) => Number(seq)), events.map(({ at }) => String(at))]
      expect(seqs).to.deep.equal([...new Set(seqs)].sort((a, b) => a - b))
      expect(times).to.deep.equal([...times].sort())
      expect(times[0]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })

    it('H7: a lost executor is in them as the daemon’s own doing, with the attempts', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const executor = scene.executor(place)
      for (const _ of oneTo(2)) {
        const lease = await executor.take(20)
        await report(lease, 'running')
        await untilExpired(lease)
      }
      await scene.becomes(task_id, 'failed')
      const events = await scene.history(task_id)
      expect(events.map(({ status, attempt }) => `${String(status)} ${String(attempt)}`)).to.deep.equal([
        'queued 0',
        'dispatching 1',
        'running 1',
        'queued 1',
        'dispatching 2',
        'running 2',
        'failed 2'
      ])
      expect([events[3]!['by'], events[6]!['by']]).to.deep.equal([null, null])
    })

    it('come in pages', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      for (const status of ['running', 'awaiting_permission', 'running', 'completed'])
        await made(scene.alice.rest.patch(`/tasks/${task_id}`, { status }))
      const all = await scene.history(task_id)
      expect(all.map(({ status }) => status)).to.deep.equal(['queued', 'running', 'awaiting_permission', 'running', 'completed'])
      const page = await scene.alice.rest.get(`/tasks/${task_id}/events?$limit=2&$skip=1`)
      expect(page.body).to.deep.equal({ total: 5, limit: 2, skip: 1, data: all.slice(1, 3) })
    })

    it('D1: are for those who may see the task: strangers find nothing, as if there were no such task; a token reads its session’s', async () => {
      const place = await scene.place({ alone: true })
      const [first, second] = (await scene.tasks(place, 2)) as [string, string]
      const [viewer, stranger] = [await scene.world.user('viewer'), await scene.world.user('stranger')]
      await scene.world.grant(scene.alice, place.worktree_id, viewer, 'view')
      for (const door of await open(scene.world.url, viewer.token))
        expect(rowsOf(await door.call(`tasks/${first}/events`, 'find', { query: {} })).length, door.transport).to.equal(1)
      for (const door of await open(scene.world.url, stranger.token)) {
        const hidden = await door.call(`tasks/${first}/events`, 'find', { query: {} })
        const absent = await door.call(`tasks/${absentId()}/events`, 'find', { query: {} })
        expect([told(hidden), told(absent)]).to.deep.equal(['404 not_found', '404 not_found'])
        expect(withoutIds(hidden)).to.deep.equal(withoutIds(absent))
      }
      expect(told(await client(scene.world.url).get(`/tasks/${first}/events`))).to.equal('401 not_authenticated')
      const elsewhere = (await scene.tasks(await scene.beside(place), 1))[0]!
      const token = client(scene.world.url, await scene.world.taskToken(scene.alice, first))
      const read = async (id: string) => told(await token.get(`/tasks/${id}/events`))
      expect([await read(first), await read(second), await read(elsewhere)]).to.deep.equal([
        '200 ok',
        '200 ok',
        '403 token_scope'
      ])
    })

    it('cannot be written', async () => {
      const place = await scene.place()
      const [task_id] = (await scene.tasks(place, 1)) as [string]
      const path = `/tasks/${task_id}/events`
      const { rest } = scene.alice
      for (const answer of [
        await rest.post(path),
        await rest.patch(`${path}/1`),
        await rest.del(`${path}/1`),
        await rest.put(path)
      ])
        expect(answer.status).to.be.oneOf([404, 405])
      expect((await scene.history(task_id)).length).to.equal(1)
    })
  })
})
