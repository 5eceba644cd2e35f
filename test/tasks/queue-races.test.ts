import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { oneTo } from '../support/appending.js'
import type { Answer } from '../support/client.js'
import { startDaemon } from '../support/daemon.js'
import { eachStore } from '../support/stores.js'
import { leaseOf, queueScene, report, told, type Place, type QueueScene } from './queue-scene.js'

const EXECUTORS = 20
const SESSIONS = 5
const TASKS = 20
const MANY = 30

describe('many executors at one queue', function () {
  this.timeout(180_000)

  eachStore((kind) => {
    let scene: QueueScene
    let urls: string[]

    before(async () => {
      const store = await kind.make()
      const first = await store.start()
      // One file is one home; on PostgreSQL the second is on another machine, as far as it knows.
      const second = kind.name === 'SQLite' ? await store.start() : await startDaemon({ databaseUrl: store.url })
      kind.afterwards(second.stop)
      urls = [first.url, second.url]
      scene = await queueScene(first.url)
    })

    for (const daemons of [1, 2]) {
      const where = daemons === 1 ? '' : ', half of them at each of two daemons'

      it(`H7: ${EXECUTORS} executors that ask at once${where}: each session gives one task, its oldest, and no two get the same`, async () => {
        const { places, ids } = await filled()
        const answers = await Promise.all(executors(places[0]!, daemons).map(({ lease }) => lease()))
        const leases = answers.filter(({ status }) => status === 201).map(taken)
        expect(answers.filter(({ status }) => status === 204).length).to.equal(EXECUTORS - SESSIONS)
        expect(leases.map(({ task_id }) => task_id).sort()).to.deep.equal(ids.slice(0, SESSIONS))
        expect(new Set(leases.map(({ session_id }) => session_id)).size).to.equal(SESSIONS)
        expect(new Set(leases.map(({ token }) => token)).size).to.equal(SESSIONS)
      })

      it(`H7: ${EXECUTORS} executors run ${TASKS} tasks of ${SESSIONS} sessions${where}: each once, in the order of its session, never two in one`, async () => {
        const { places, ids } = await filled()
        const active = new Set<string>()
        const run: string[] = []
        const problems: string[] = []
        const work = async ({ lease }: ReturnType<typeof executors>[number]) => {
          for (const deadline = Date.now() + RUN_MS; run.length < TASKS && Date.now() < deadline;) {
            const answer = await lease(1)
            if (answer.status === 204) continue
            if (answer.status !== 201) return void problems.push(told(answer))
            const held = taken(answer)
            if (active.has(held.session_id)) problems.push(`two at once in ${held.session_id}`)
            if (held.attempt !== 1) problems.push(`attempt ${held.attempt}`)
            active.add(held.session_id)
            run.push(held.task_id)
            await report(held, 'running')
            active.delete(held.session_id)
            await report(held, 'completed')
          }
        }
        await Promise.all(executors(places[0]!, daemons).map(work))
        expect(problems).to.deep.equal([])
        expect([...run].sort()).to.deep.equal(ids)
        expect(await scene.statuses(ids)).to.deep.equal(Array(TASKS).fill('completed'))
        for (const index of places.keys()) {
          const own = ids.filter((_, position) => position % SESSIONS === index)
          expect(run.filter((id) => own.includes(id))).to.deep.equal(own)
        }
      })
    }

    it('H7: as many executors as sessions ask at once, half of them at each daemon: each gets a task', async () => {
      const first = await scene.place()
      const ids: string[] = []
      for (const index of oneTo(MANY)) ids.push(...(await scene.tasks(index === 1 ? first : await scene.beside(first), 1)))
      const answers = await Promise.all(oneTo(MANY).map((index) => scene.executor(first, urls[index % 2]).lease()))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(MANY).fill(201))
      expect(answers.map((answer) => taken(answer).task_id).sort()).to.deep.equal(ids)
    })

    it('H7: who waits at one daemon gets a task that is made at the other', async () => {
      const place = await scene.place()
      const waiting = scene.executor(place, urls[1]).take(25)
      await sleep(300)
      const [task_id] = await scene.tasks(place, 1)
      expect((await waiting).task_id).to.equal(task_id)
    })

    /** Sessions of one agent, and tasks in turn. */
    async function filled(): Promise<{ places: Place[]; ids: string[] }> {
      const places = [await scene.place()]
      while (places.length < SESSIONS) places.push(await scene.beside(places[0]!))
      const ids: string[] = []
      for (const index of oneTo(TASKS)) ids.push(...(await scene.tasks(places[(index - 1) % SESSIONS]!, 1)))
      return { places, ids }
    }

    const executors = (place: Place, daemons: number) =>
      oneTo(EXECUTORS).map((index) => {
        const url = urls[index % daemons]!
        const { lease } = scene.executor(place, url)
        return { lease }
      })

    const taken = (answer: Answer) => leaseOf(urls[0]!, answer)
  })
})

const RUN_MS = 90_000
