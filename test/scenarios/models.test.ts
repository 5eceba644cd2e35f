import { expect } from 'chai'
import { rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const ROUNDS = 200
const SPAWNS = 50

describe('the model of a session', function () {
  this.timeout(180_000)

  eachDatabase((database) => {
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = (fields: Body = {}) => made(alice.rest.post('/sessions', { worktree_id, ...fields }))
    const stored = (session_id: string) => made(alice.rest.get(`/sessions/${session_id}`))
    const task = (session_id: string, fields: Body = {}) =>
      made(alice.rest.post('/tasks', { session_id, prompt: 'do it', ...fields }))
    const report = (task_id: string, fields: Body) => made(alice.rest.patch(`/tasks/${task_id}`, fields))

    it(`B5: a task that is created right after the model was changed has the new one, ${ROUNDS} times`, async () => {
      const session_id = text(await session({ model: 'm' }), 'session_id')
      for (let round = 0; round < ROUNDS; round++) {
        await made(alice.rest.patch(`/sessions/${session_id}`, { model: `m${round}` }))
        const { effective_model, requested_model } = await task(session_id)
        expect([effective_model, requested_model]).to.deep.equal([`m${round}`, null])
      }
    })

    it('B6: a running task keeps the model it began with, the next one has the new one, and its end does not bring the old back', async () => {
      const session_id = text(await session({ model: 'm0' }), 'session_id')
      const first = text(await task(session_id), 'task_id')
      await report(first, { status: 'running' })
      const patched = await made(alice.rest.patch(`/sessions/${session_id}`, { model: 'm1' }))
      const second = await task(session_id)
      const ended = await report(first, { status: 'completed', observed_model: 'm0', usage: { tokens: 1 }, exit_code: 0 })
      expect([ended['effective_model'], ended['status']]).to.deep.equal(['m0', 'completed'])
      expect((await made(alice.rest.get(`/tasks/${first}`)))['effective_model']).to.equal('m0')
      expect([second['effective_model'], (await task(session_id))['effective_model']]).to.deep.equal(['m1', 'm1'])
      const { model, version } = await stored(session_id)
      expect([model, version]).to.deep.equal(['m1', patched['version']])
    })

    it(`B7: a task that ends while model, tools, title, archived_at and pinned are changed reverts none of them, ${ROUNDS} times`, async () => {
      const session_id = text(await session({ model: 'm', tools: ['t'], title: 't' }), 'session_id')
      for (let round = 0; round < ROUNDS; round++) {
        const { version } = await stored(session_id)
        const task_id = text(await task(session_id), 'task_id')
        await report(task_id, { status: 'running' })
        const fields: Body = {
          model: `m${round}`,
          tools: [`t${round}`, 'b'],
          title: `t${round}`,
          archived_at: round % 2 ? null : new Date(1_700_000_000_000 + round).toISOString(),
          pinned: round % 2 === 0
        }
        const patches = Object.entries(fields).map(
          ([field, value]) =>
            () =>
              made(alice.rest.patch(`/sessions/${session_id}`, { [field]: value }))
        )
        const end = () => report(task_id, { status: 'completed', exit_code: 0, usage: { round } })
        // The end among them at another place in each round.
        patches.splice(round % (patches.length + 1), 0, end)
        await Promise.all(patches.map((send) => send()))
        const now = await stored(session_id)
        expect(Object.fromEntries(Object.keys(fields).map((field) => [field, now[field]]))).to.deep.equal(fields)
        expect([now['version'], now['status']]).to.deep.equal([Number(version) + 5, 'idle'])
        expect((await made(alice.rest.get(`/tasks/${task_id}`)))['status']).to.equal('completed')
      }
    })

    it(`B8: a child made with model and tools in one call never shows others, not even to those who look meanwhile, ${SPAWNS} times`, async () => {
      const parent = text(await session({ model: 'of the parent', tools: ['of the parent'] }), 'session_id')
      let met = 0
      for (let round = 0; round < SPAWNS; round++) {
        const wanted = { parent_session_id: parent, model: `m${round}`, tools: [`t${round}`], settings: { round } }
        let done = false
        const watch = async (): Promise<void> => {
          do {
            const [newest] = rowsOf(await alice.rest.get(`/sessions?parent_session_id=${parent}&$sort[session_id]=-1&$limit=1`))
            if (!newest || newest['model'] === `m${round - 1}`) continue
            met++
            expect(newest).to.deep.include(wanted)
            expect(await stored(text(newest, 'session_id'))).to.deep.include(wanted)
          } while (!done)
        }
        const spawn = session(wanted).finally(() => (done = true))
        const [child] = await Promise.all([spawn, watch(), watch()])
        expect(child).to.deep.include({ ...wanted, version: 1 })
        const first = await task(text(child, 'session_id'))
        expect(first).to.deep.include({ effective_model: `m${round}` })
      }
      expect(met, 'the watchers never saw a child').to.be.above(0)
    })

    it('B9: a child with a model that is not valid is 400, and there is no child, no entry of one, and the parent as it was', async () => {
      const parent = await session({ model: 'm', tools: ['t'] })
      const parent_session_id = text(parent, 'session_id')
      const mark = await world.journalEnd()
      for (const model of ['', 'x'.repeat(201), 'a\nb', 'a\0b', 7, true, ['m'], { name: 'm' }, { $ne: null }])
        for (const more of [{}, { tools: ['t'], settings: { a: 1 } }]) {
          const answer = await alice.rest.post('/sessions', { worktree_id, parent_session_id, model, ...more })
          expect(answer.status, JSON.stringify(model)).to.equal(400)
        }
      const children = await alice.rest.get(`/sessions?parent_session_id=${parent_session_id}`)
      expect([children.body['total'], rowsOf(children)]).to.deep.equal([0, []])
      const entries = (await world.journalSince(mark)).filter(({ action }) => action === 'sessions.create')
      expect(entries.filter(({ decision }) => decision === 'allow')).to.deep.equal([])
      expect(await stored(parent_session_id)).to.deep.equal(parent)
    })
  })
})
