import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { eachDatabase } from '../support/databases.js'
import { workerWorld } from './worker-world.js'

eachDatabase((database) => {
  describe('executors and the queue', () => {
    const { session, queue, work, becomes, lines } = workerWorld(database.start)

    it('two executors run the tasks of two sessions, in each one at a time and in order, and each task once', async () => {
      const sessions = { a: await session(), b: await session() }
      const tasks: string[] = []
      for (const number of [1, 2, 3]) {
        for (const [name, session_id] of Object.entries(sessions)) {
          const run = `${name}${number}`
          tasks.push(await queue(`echo ${run} begins >>${name}; sleep 0.3; echo ${run} ends >>${name}`, { session_id }))
        }
      }
      work({ args: ['--name', 'one'] })
      work({ args: ['--name', 'two'] })

      for (const task of tasks) expect(await becomes(task, 'completed')).to.include({ attempt: 1 })
      for (const name of Object.keys(sessions)) {
        expect(await lines(name)).to.deep.equal([1, 2, 3].flatMap((n) => [`${name}${n} begins`, `${name}${n} ends`]))
      }
    })
  })

  describe('an executor without a task', () => {
    const { queue, work, read, becomes } = workerWorld(database.start)

    it('ends with 0 when it is told to, and the next task is not given to it', async () => {
      const { executor, stop } = work()
      // It has said that it takes tasks; soon after that it waits for one.
      await once(executor.stdout!, 'data')
      await sleep(500)
      expect(await stop()).to.include({ code: 0, stderr: '' })

      const task = await queue('true')
      await sleep(500)
      expect(await read(task)).to.include({ status: 'queued', attempt: 0 })
      work({ args: ['--once'] })
      expect(await becomes(task, 'completed')).to.include({ attempt: 1 })
    })
  })
})
