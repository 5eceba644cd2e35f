import { expect } from 'chai'
import { client, codeOf, rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const ROUNDS = 50

describe('what a task runs with', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = async (fields: Body = {}) =>
      text(await made(alice.rest.post('/sessions', { worktree_id, ...fields })), 'session_id')
    const task = (session_id: string, fields: Body = {}) =>
      made(alice.rest.post('/tasks', { session_id, prompt: 'do it', ...fields }))
    const models = ({ requested_model, effective_model, observed_model }: Body) => [
      requested_model,
      effective_model,
      observed_model
    ]

    it('B10: the record says which model was asked for, which one counts and which one answered, also when they differ', async () => {
      const session_id = await session({ model: 'of the session' })
      const created = await task(session_id, { requested_model: 'asked for' })
      expect(models(created)).to.deep.equal(['asked for', 'asked for', null])
      const task_id = text(created, 'task_id')
      const executor = client(world.url, await world.taskToken(alice, task_id))
      await made(executor.patch(`/tasks/${task_id}`, { status: 'running' }))
      await made(executor.patch(`/tasks/${task_id}`, { observed_model: 'a fallback' }))
      await made(executor.patch(`/tasks/${task_id}`, { status: 'completed' }))
      for (const record of [
        await made(alice.rest.get(`/tasks/${task_id}`)),
        ...rowsOf(await alice.rest.get(`/tasks?session_id=${session_id}`))
      ])
        expect(models(record)).to.deep.equal(['asked for', 'asked for', 'a fallback'])
      const refused = await alice.rest.patch(`/tasks/${task_id}`, { requested_model: 'another' })
      expect(refused.status).to.be.oneOf([400, 409])
      expect(models(await made(alice.rest.get(`/tasks/${task_id}`)))[0]).to.equal('asked for')
    })

    it('B11: the model of the task goes before that of the session, and without either there is none', async () => {
      const withModel = await session({ model: 'of the session' })
      const without = await session()
      const effective = async (session_id: string, fields: Body = {}) => models(await task(session_id, fields)).slice(0, 2)
      expect(await effective(withModel, { requested_model: 'of the task' })).to.deep.equal(['of the task', 'of the task'])
      expect(await effective(without, { requested_model: 'of the task' })).to.deep.equal(['of the task', 'of the task'])
      expect(await effective(withModel)).to.deep.equal([null, 'of the session'])
      expect(await effective(withModel, { requested_model: null })).to.deep.equal([null, 'of the session'])
      expect(await effective(without)).to.deep.equal([null, null])
    })

    it('B11: a child without a model has none, whatever its parent has', async () => {
      const parent_session_id = await session({ model: 'of the parent', tools: ['a'], settings: { a: 1 }, agent: 'an agent' })
      const child = await made(alice.rest.post('/sessions', { worktree_id, parent_session_id }))
      const { model, tools, settings, agent } = child
      expect({ model, tools, settings, agent }).to.deep.equal({ model: null, tools: null, settings: {}, agent: null })
      expect(models(await task(text(child, 'session_id')))).to.deep.equal([null, null, null])
      await made(alice.rest.patch(`/sessions/${parent_session_id}`, { model: 'another' }))
      expect(models(await task(text(child, 'session_id')))).to.deep.equal([null, null, null])
    })

    it('config has the settings and tools of the moment the task was created, whatever the session has later', async () => {
      const config = { settings: { thinking: 'deep', policy: { a: [1, null] } }, tools: ['read', 'write'] }
      const session_id = await session(config)
      const first = await task(session_id)
      expect(first['config']).to.deep.equal(config)
      const task_id = text(first, 'task_id')
      await made(alice.rest.patch(`/tasks/${task_id}`, { status: 'running' }))
      await made(alice.rest.patch(`/sessions/${session_id}`, { tools: null, settings: { thinking: null, more: 1 } }))
      const second = await task(session_id)
      expect(second['config']).to.deep.equal({ settings: { policy: { a: [1, null] }, more: 1 }, tools: null })
      await made(alice.rest.patch(`/tasks/${task_id}`, { status: 'completed' }))
      const listed = rowsOf(await alice.rest.get(`/tasks?session_id=${session_id}&$sort[task_id]=1`))
      expect(listed.map((row) => row['config'])).to.deep.equal([config, second['config']])
      expect((await made(alice.rest.get(`/tasks/${task_id}`)))['config']).to.deep.equal(config)
      expect((await task(await session()))['config']).to.deep.equal({ settings: {}, tools: null })
    })

    it('config is nobody’s to write: 400 in a create and in a patch, of a person and of a task token', async () => {
      const session_id = await session({ tools: ['a'] })
      const before = await task(session_id)
      const task_id = text(before, 'task_id')
      const doors = await open(world.url, alice.token)
      doors.push(client(world.url, await world.taskToken(alice, task_id)))
      for (const config of [{ settings: {}, tools: ['b'] }, { tools: null }, {}, null])
        for (const door of doors) {
          const answer = await door.call('tasks', 'patch', task_id, { config })
          expect([answer.status, codeOf(answer)]).to.be.deep.oneOf([
            [400, 'immutable_field'],
            [400, 'unknown_field']
          ])
        }
      const answer = await alice.rest.post('/tasks', { session_id, prompt: 'p', config: { settings: {}, tools: [] } })
      expect(answer.status).to.equal(400)
      expect(await made(alice.rest.get(`/tasks/${task_id}`))).to.deep.equal(before)
      expect(before['config']).to.deep.equal({ settings: {}, tools: ['a'] })
    })

    it(`model, settings and tools of a task are of one moment, while all three change, ${ROUNDS} times`, async () => {
      const of = (round: number) => ({ model: `m${round}`, settings: { round }, tools: [`t${round}`] })
      const session_id = await session(of(0))
      for (let round = 1; round <= ROUNDS; round++) {
        const change = made(alice.rest.patch(`/sessions/${session_id}`, of(round)))
        const tasks = [task(session_id), task(session_id), change.then(() => task(session_id))]
        const [early, , late] = await Promise.all(tasks)
        for (const { effective_model, config } of await Promise.all(tasks)) {
          const { settings, tools } = of(effective_model === `m${round}` ? round : round - 1)
          expect(config, String(effective_model)).to.deep.equal({ settings, tools })
        }
        expect(early!['effective_model']).to.be.oneOf([`m${round - 1}`, `m${round}`])
        expect(late!['effective_model']).to.equal(`m${round}`)
      }
    })
  })
})
