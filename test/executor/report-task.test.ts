import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { made } from '../support/world.js'
import { executorWorld } from './executor-world.js'
import { startExecutor } from './start-executor.js'

describe('an executor and its daemon', () => {
  const { world, ann, key, worktree, inDirectory, proxied, queue, execute, read, transcript } = executorWorld()

  it('uses the key only to get a token of the task, and never names the session in a report', async () => {
    const task = await queue('true')
    const { proxy } = await execute(task)

    const { task_id, session_id } = task
    expect(proxy.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      `POST /tasks/${task_id}/token`,
      `GET /tasks/${task_id}`,
      `GET /sessions/${session_id}`,
      `GET /worktrees/${worktree()}`,
      `PATCH /tasks/${task_id}`,
      'POST /messages',
      `PATCH /tasks/${task_id}`
    ])
    const [exchange, ...rest] = proxy.requests
    expect(exchange!.headers['authorization']).to.equal(`Bearer ${key()}`)
    for (const request of rest) expect(request.headers['authorization']).to.match(/^Bearer stoa_task_/)
    const reports = proxy.requests.filter(({ method }) => method === 'PATCH')
    expect(reports.map(({ body }) => body['status'])).to.deep.equal(['running', 'completed'])
    for (const { body } of reports) expect(body).not.to.have.property('session_id')
  })

  it('works with nothing but a token of the task', async () => {
    const task = await queue('echo hello')
    const token = await world().taskToken(ann(), task.task_id)
    const { ended, proxy } = await execute(task, { credential: { STOA_TASK_TOKEN: token } })

    expect(ended.code).to.equal(0)
    expect(proxy.requests.every(({ headers }) => headers['authorization'] === `Bearer ${token}`)).to.equal(true)
    expect(await read(task)).to.include({ status: 'completed' })
  })

  it('with the key of a viewer is refused, and the command never runs', async () => {
    const vic = await world().user('vic', 'viewer')
    await world().grant(ann(), worktree(), vic, 'all')
    const task = await queue('touch it-ran')
    const { ended } = await execute(task, { credential: { STOA_KEY: (await world().apiKey(vic)).secret } })

    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.match(/refused \(403 role_too_low\)/)
    expect(existsSync(inDirectory('it-ran'))).to.equal(false)
    expect(await read(task)).to.include({ status: 'queued' })
    expect(await transcript(task)).to.deep.equal([])
  })

  it('whose author lost the right after the token was given is refused at `running`, and the command never runs', async () => {
    const bob = await world().user('bob')
    const grant = await world().grant(ann(), worktree(), bob, 'prompt')
    const task = await queue('touch it-ran')
    const token = await world().taskToken(bob, task.task_id)
    await made(ann().rest.patch(`/grants/${grant}`, { level: 'view' }))
    const { ended } = await execute(task, { credential: { STOA_TASK_TOKEN: token } })

    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.match(/PATCH \/tasks\/.* was refused \(403 level_too_low\)/)
    expect(existsSync(inDirectory('it-ran'))).to.equal(false)
  })

  it('does not run a task that has ended', async () => {
    const task = await queue('echo once >>runs')
    await execute(task)
    const { ended } = await execute(task)

    expect(ended.code).to.equal(1)
    expect(await readFile(inDirectory('runs'), 'utf8')).to.equal('once\n')
  })

  it('leaves the task to the other, when two executors start it at once', async () => {
    const task = await queue('echo once >>runs; sleep 0.3')
    const both = await Promise.all([execute(task), execute(task)])

    expect(both.map(({ ended }) => ended.code).sort()).to.deep.equal([0, 1])
    expect(await readFile(inDirectory('runs'), 'utf8')).to.equal('once\n')
  })

  it('tries again when the daemon is away or busy, and stores the output once', async () => {
    const task = await queue('echo once >>runs')
    const { ended } = await execute(task, {
      trouble: (_, earlier) =>
        earlier === 0 ? 'hang up' : earlier === 1 ? { answer: 503, body: { data: { code: 'unavailable' } } } : undefined
    })

    expect(ended).to.include({ code: 0, stderr: '' })
    expect(await readFile(inDirectory('runs'), 'utf8')).to.equal('once\n')
    expect(await transcript(task)).to.have.length(1)
  }).timeout(120_000)

  it('carries on when its report arrived and the answer was lost', async () => {
    const task = await queue('echo once >>runs')
    const lost = new Set<unknown>()
    const { ended } = await execute(task, {
      trouble: ({ method, path, body }) => {
        const request = `${method} ${path} ${String(body['status'])}`
        if (method === 'GET' || lost.has(request)) return undefined
        lost.add(request)
        return 'lose the answer'
      }
    })

    expect(ended).to.include({ code: 0, stderr: '' })
    expect(await read(task)).to.include({ status: 'completed' })
    expect(await readFile(inDirectory('runs'), 'utf8')).to.equal('once\n')
    expect(await transcript(task)).to.have.length(1)
  })

  it('reports the end of a task whose output is refused, and exits with 1', async () => {
    const task = await queue('echo hello')
    const refusal = { answer: 413, body: { message: 'The request is too large.', data: { code: 'too_large' } } }
    const { ended } = await execute(task, { trouble: ({ path }) => (path === '/messages' ? refusal : undefined) })

    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.contain('too_large')
    const { status, because } = await read(task)
    expect(status).to.equal('completed')
    expect(because).to.contain('output could not be stored')
  })

  it('without --dir says that the worktree has no directory, and leaves the task queued', async () => {
    const task = await queue('true')
    const { ended } = await execute(task, { directory: null })

    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.contain('--dir')
    expect(await read(task)).to.include({ status: 'queued' })
  })

  it('without a credential, with two, or with a task that is no id, says so and asks the daemon nothing', async () => {
    const { task_id } = await queue('true')
    const wrong: [string[], Record<string, string>, RegExp][] = [
      [['--task', task_id], {}, /STOA_KEY/],
      [['--task', task_id], { STOA_KEY: key(), STOA_TASK_TOKEN: 'stoa_task_x' }, /one of them/],
      [['--task', 'x'], { STOA_KEY: key() }, /--task/],
      [['--task', task_id, '--timeout', '-1'], { STOA_KEY: key() }, /--timeout/],
      [['--task', task_id, '--key', key()], {}, /--key/]
    ]
    const proxy = await proxied()
    for (const [args, environment, message] of wrong) {
      const ended = await startExecutor(['--daemon', proxy.url, ...args], environment).ended
      expect(ended.code, args.join(' ')).to.equal(1)
      expect(ended.stderr).to.match(message)
    }
    expect(proxy.requests).to.deep.equal([])
  })

  it('explains itself with --help', async () => {
    const ended = await startExecutor(['--help'], {}).ended
    expect(ended).to.include({ code: 0, stderr: '' })
    expect(ended.stdout).to.contain('--daemon URL').and.to.contain('STOA_TASK_TOKEN')
  })
})
