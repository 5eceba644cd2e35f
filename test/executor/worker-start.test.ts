import { expect } from 'chai'
import { startDaemon, type Daemon } from '../support/daemon.js'
import { made, text } from '../support/world.js'
import { workerWorld } from './worker-world.js'

describe('an executor that cannot take tasks', () => {
  let started: Daemon
  const { ann, key, queue, work, read, proxied } = workerWorld(async (env) => (started = await startDaemon({ env })))
  after(() => started.stop())

  it('because its key has no executor scope says so, says which key it takes, and ends with 1', async () => {
    const task = await queue('true')
    const secret = text(await made(ann().rest.post('/api-keys', { name: 'an ordinary key' })), 'secret')
    const ended = await work({ credential: { STOA_KEY: secret } }).ended()

    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.contain('"scope": "executor"').and.not.to.contain(secret)
    expect(await read(task)).to.include({ status: 'queued', attempt: 0 })
  })

  it('because its key is not, or no longer, a key says so and ends with 1', async () => {
    const removed = await made(ann().rest.post('/api-keys', { name: 'removed', scope: 'executor' }))
    await made(ann().rest.del(`/api-keys/${text(removed, 'api_key_id')}`))
    for (const secret of [text(removed, 'secret'), 'stoa_pat_nonsense']) {
      const ended = await work({ credential: { STOA_KEY: secret } }).ended()
      expect(ended.code).to.equal(1)
      expect(ended.stderr).to.contain('STOA_KEY is not a key of this daemon')
    }
  })

  it('because of how it was started says so, ends with 1 and asks the daemon nothing', async () => {
    const { url, requests } = await proxied()
    const wrong: [string[], Record<string, string>, RegExp][] = [
      [[], {}, /STOA_KEY/],
      [[], { STOA_TASK_TOKEN: 'stoa_task_x' }, /--task/],
      [['--agents', 'shell,,other'], { STOA_KEY: key() }, /--agents/],
      [['--name', ' '], { STOA_KEY: key() }, /--name/],
      [['--once', '--task', '0190a000-0000-7000-8000-000000000000'], { STOA_KEY: key() }, /--once/],
      [['--key', key()], {}, /--key/]
    ]
    for (const [args, credential, message] of wrong) {
      const ended = await work({ url, args, credential }).ended()
      expect(ended.code, args.join(' ')).to.equal(1)
      expect(ended.stderr).to.match(message)
    }
    expect(requests).to.deep.equal([])
  })
})
