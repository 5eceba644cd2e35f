import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Daemon } from '../support/daemon.js'
import { eachStore, type Store } from '../support/stores.js'
import { appears, HEARTBEAT, isBeating } from './heartbeat.js'
import { workerWorld } from './worker-world.js'

eachStore(({ make }) => {
  describe('a task whose executor is killed', () => {
    const { inDirectory, lines, queue, work, becomes, history } = workerWorld(async (env) => (await make()).start(env))

    it('is queued again and run by another executor, exactly once more; nothing of the first run is left', async () => {
      // The first run does not end by itself; the second, which finds its traces, does.
      const task = await queue(`echo run >>runs; [ $(wc -l <runs) = 1 ] || exit 0; ${HEARTBEAT}`)
      const first = work()
      await appears(inDirectory('beats'))
      first.executor.kill('SIGKILL')
      await first.ended()
      // Whoever guards the command has to notice first.
      while (await isBeating(inDirectory('beats'))) await sleep(50)

      work({ args: ['--name', 'another'] })
      expect(await becomes(task, 'completed')).to.include({ attempt: 2 })
      expect(await lines('runs')).to.deep.equal(['run', 'run'])
      expect((await history(task)).slice(-6)).to.deep.equal([
        'dispatching',
        'running',
        'queued',
        'dispatching',
        'running',
        'completed'
      ])
    })
  })

  describe('a task whose daemon is restarted', () => {
    let store: Store
    let daemon: Daemon
    const { inDirectory, lines, queue, work, becomes, transcript } = workerWorld(
      async (env) => {
        store = await make()
        return (daemon = await store.start(env))
      },
      { STOA_LEASE_S: '20' }
    )

    for (const [how, end] of [
      ['stopped', () => daemon.stop()],
      ['killed', () => daemon.kill()]
    ] as const) {
      it(`runs on while the daemon is ${how} and started again, and is completed, once`, async () => {
        const task = await queue('echo run >>runs; until [ -e go ]; do sleep 0.05; done; echo done')
        const { ended } = work({ args: ['--once'] })
        await appears(inDirectory('runs'))
        await end()
        daemon = await store.start({ STOA_LEASE_S: '20', STOA_PORT: new URL(daemon.url).port })
        await writeFile(inDirectory('go'), '')

        expect((await ended()).stdout).to.contain(`task ${task} completed`)
        expect(await becomes(task, 'completed')).to.include({ attempt: 1 })
        expect(await lines('runs')).to.deep.equal(['run'])
        expect(await transcript(task)).to.have.length(1)
      })
    }
  })
})
