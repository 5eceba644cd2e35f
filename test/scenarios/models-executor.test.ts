import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { executorWorld } from '../executor/executor-world.js'
import { made, text } from '../support/world.js'

const ROUNDS = 3

describe('the model of a task that an executor runs', () => {
  const { ann, world, worktree, inDirectory, begin, execute, read, transcript } = executorWorld()

  const queue = async (session_id: string, prompt: string) => ({
    session_id,
    task_id: text(await made(ann().rest.post('/tasks', { session_id, prompt })), 'task_id')
  })

  it('B5: it is the one that the session was given right before, in each of several rounds', async () => {
    const session_id = await world().session(ann(), worktree())
    for (let round = 0; round < ROUNDS; round++) {
      await made(ann().rest.patch(`/sessions/${session_id}`, { model: `m${round}` }))
      const task = await queue(session_id, `echo round ${round}`)
      expect((await execute(task)).ended.code).to.equal(0)
      expect(await read(task)).to.include({ status: 'completed', effective_model: `m${round}` })
    }
    expect((await transcript({ session_id, task_id: '' })).map(({ content }) => content)).to.deep.equal(
      Array.from({ length: ROUNDS }, (_, round) => `round ${round}\n`)
    )
  })

  it('B6: one that is changed meanwhile is for the next task; this one ends with its own, and the session keeps the change', async () => {
    const session_id = await world().session(ann(), worktree())
    await made(ann().rest.patch(`/sessions/${session_id}`, { model: 'm0' }))
    const held = await queue(session_id, 'until [ -e released ]; do sleep 0.02; done; echo done')
    const { ended } = await begin(held)
    while ((await read(held))['status'] !== 'running') await sleep(20)
    const patched = await made(ann().rest.patch(`/sessions/${session_id}`, { model: 'm1' }))
    await writeFile(inDirectory('released'), '')
    expect((await ended()).code).to.equal(0)
    expect(await read(held)).to.include({ status: 'completed', effective_model: 'm0' })
    const { model, version } = await made(ann().rest.get(`/sessions/${session_id}`))
    expect([model, version]).to.deep.equal(['m1', patched['version']])
    const next = await queue(session_id, 'true')
    await execute(next)
    expect(await read(next)).to.include({ status: 'completed', effective_model: 'm1' })
  })
})
