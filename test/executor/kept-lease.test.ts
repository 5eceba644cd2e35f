import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { startDaemon, type Daemon } from '../support/daemon.js'
import { HEARTBEAT, isBeating } from './heartbeat.js'
import type { Recorded, RecordingProxy } from './recording-proxy.js'
import { workerWorld } from './worker-world.js'

const REFUSALS = [
  { answer: 409, body: { message: 'This lease is over.', data: { code: 'lease_held' } } },
  { answer: 404, body: { message: 'Not found.', data: { code: 'not_found' } } },
  { answer: 401, body: { message: 'Not authenticated.', data: { code: 'not_authenticated' } } }
]

describe('a lease', () => {
  let started: Daemon
  const world = workerWorld(async (env) => (started = await startDaemon({ env })))
  const { inDirectory, queue, work, proxied, read, becomes, lines, transcript } = world
  after(() => started.stop())

  it('is renewed while the task runs, with the key and not with the token, and not once the task has ended', async () => {
    const proxy = await proxied()
    const task = await queue('sleep 5')
    await work({ url: proxy.url, args: ['--once'] }).ended()

    expect(await read(task)).to.include({ status: 'completed', attempt: 1 })
    // Five seconds are five thirds of a lease of three; a slow machine may miss one.
    expect(renewals(proxy).length).to.be.within(3, 5)
    for (const { headers, status } of renewals(proxy)) {
      expect(headers['authorization']).to.equal(`Bearer ${world.key()}`)
      expect(status).to.equal(200)
    }
    expect(proxy.requests.at(-1)).to.deep.include({ method: 'PATCH', path: `/tasks/${task}` })
    expect(proxy.requests[0]!.body).to.have.property('wait_s', 20)
  })

  for (const refusal of REFUSALS) {
    it(`that is answered with ${refusal.answer} is lost: the command is killed at once and nothing more is reported`, async () => {
      const proxy = await proxied((request) => (isRenewal(request) ? refusal : undefined))
      await queue(`trap 'touch asked' TERM; ${HEARTBEAT}`)
      const ended = await work({ url: proxy.url, args: ['--once'] }).ended()

      expect(await isBeating(inDirectory('beats'))).to.equal(false)
      expect(existsSync(inDirectory('asked'))).to.equal(false)
      expect(ended).to.include({ code: 0, stderr: '' })
      expect(ended.stdout).to.contain(`no longer ours, and nothing more is reported: ${refusal.answer}`)
      expect(reports(proxy)).to.deep.equal(['running'])
      expect(proxy.requests.some(({ path }) => path === '/messages')).to.equal(false)
      await drainQueue()
    })
  }

  it('lives on while the daemon is away for less than its life, and the task with it', async () => {
    const proxy = await proxied((request, earlier) => (isRenewal(request) && earlier < 2 ? 'hang up' : undefined))
    const task = await queue('sleep 4; echo run >>runs')
    await work({ url: proxy.url, args: ['--once'] }).ended()

    expect(await read(task)).to.include({ status: 'completed', attempt: 1 })
    expect(await lines('runs')).to.deep.equal(['run'])
  })

  it('whose life is over without an answer is lost: the command is killed, and nothing is reported later', async () => {
    const proxy = await proxied((request) => (isRenewal(request) ? 'hang up' : undefined))
    await queue(HEARTBEAT)
    const ended = await work({ url: proxy.url, args: ['--once'] }).ended()

    expect(ended.stdout).to.contain('the daemon did not answer while it lived')
    expect(await isBeating(inDirectory('beats'))).to.equal(false)
    expect(renewals(proxy).length).to.be.above(2)
    expect(reports(proxy)).to.deep.equal(['running'])
    await drainQueue()
  })

  it('is asked for in growing pauses while the daemon is away, and the executor works when it is back', async () => {
    const proxy = await proxied((request, earlier) => (request.path === '/leases' && earlier < 3 ? 'hang up' : undefined))
    const task = await queue('echo run >>runs')
    const ended = await work({ url: proxy.url, args: ['--once'] }).ended()

    expect(ended.stdout).to.contain('The daemon gives no tasks').and.to.contain('The daemon answers again')
    expect(await read(task)).to.include({ status: 'completed', attempt: 1 })
  })

  it('carries each report once, when it arrived and its answer was lost', async () => {
    const seen = new Set<string>()
    const proxy = await proxied(({ method, path, body }) => {
      const request = `${method} ${path} ${String(body['status'])}`
      if (path.startsWith('/leases') || seen.has(request)) return undefined
      seen.add(request)
      return 'lose the answer'
    })
    const task = await queue('echo run >>runs')
    const ended = await work({ url: proxy.url, args: ['--once'] }).ended()

    expect(ended.stdout).to.contain(`task ${task} completed`)
    expect(await read(task)).to.include({ status: 'completed', attempt: 1 })
    expect(await transcript(task)).to.have.length(1)
    expect(await lines('runs')).to.deep.equal(['run'])
  })

  it('of a task that is asked to stop before it began is ended with `stopped`, and the command never runs', async () => {
    const task = await queue('touch it-ran')
    const refusal = { answer: 409, body: { message: 'It is stopping.', data: { code: 'illegal_transition' } } }
    const proxy = await proxied(({ body }) => (body['status'] === 'running' ? refusal : undefined))
    await work({ url: proxy.url, args: ['--once'] }).ended()

    expect(await read(task)).to.include({ status: 'stopped', because: 'Asked to stop. The command was not started.' })
    expect(existsSync(inDirectory('it-ran'))).to.equal(false)
  })

  it('that is lost between the output and the report gives the task to another, whose output is kept besides the first', async () => {
    const proxy = await proxied(({ body }) => (body['status'] === 'completed' ? REFUSALS[0] : undefined))
    const task = await queue('echo run >>runs; wc -l <runs')
    const ended = await work({ url: proxy.url, args: ['--once'] }).ended()
    expect(ended.stdout).to.contain('no longer ours')

    await work({ args: ['--once'] }).ended()
    expect(await read(task)).to.include({ status: 'completed', attempt: 2 })
    expect((await transcript(task)).map(({ content }) => String(content).trim())).to.deep.equal(['1', '2'])
  })

  it('that is lost leaves the executor to the next task', async () => {
    const lost = await queue('[ -e once ] && exit; touch once; sleep 60')
    const next = await queue('echo next >>runs')
    const proxy = await proxied((request) => (isRenewal(request) && leasesOf(proxy) === 1 ? REFUSALS[0] : undefined))
    work({ url: proxy.url })

    await becomes(next, 'completed')
    expect(await lines('runs')).to.deep.equal(['next'])
    await becomes(lost, 'completed')
  })

  /** What was lost is queued again; it must not meet the next test. */
  async function drainQueue(): Promise<void> {
    const { ann } = world
    const open = await ann().rest.get('/tasks?status[$in][]=queued&status[$in][]=dispatching&status[$in][]=running')
    for (const { task_id } of open.body['data'] as { task_id: string }[]) {
      await ann().rest.post(`/tasks/${task_id}/stop`)
      await becomes(task_id, 'stopped')
    }
  }
})

function isRenewal({ method, path }: Recorded): boolean {
  return method === 'PATCH' && path.startsWith('/leases/')
}

function renewals({ requests }: RecordingProxy): Recorded[] {
  return requests.filter(isRenewal)
}

function leasesOf(proxy: RecordingProxy): number {
  return new Set(renewals(proxy).map(({ path }) => path)).size
}

/** The status of each report about a task. */
function reports({ requests }: RecordingProxy): unknown[] {
  return requests.filter(({ method, path }) => method === 'PATCH' && path.startsWith('/tasks/')).map(({ body }) => body['status'])
}
