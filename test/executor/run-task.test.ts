import { expect } from 'chai'
import { executorWorld, lines } from './executor-world.js'
import { appears, HEARTBEAT, isBeating } from './heartbeat.js'

describe('an executor', () => {
  const { key, directory, inDirectory, queue, begin, execute, read, transcript } = executorWorld()

  it('runs the prompt, stores its output and reports the task completed', async () => {
    const task = await queue('echo to stdout; echo to stderr >&2; pwd')
    const { ended } = await execute(task)

    expect(ended).to.include({ code: 0, stderr: '' })
    expect(ended.stdout).to.contain('completed')
    expect(await read(task)).to.include({ status: 'completed', exit_code: 0, error: null, git_state: null })
    const [message, ...others] = await transcript(task)
    expect(others).to.deep.equal([])
    expect(message).to.include({ role: 'assistant', task_id: task.task_id, client_message_id: `executor:${task.task_id}:output` })
    expect(lines(message!['content'])).to.have.members(['to stdout', 'to stderr', directory()])
  })

  it('reports a command that exits with another code than 0 as failed, and exits with 2', async () => {
    const task = await queue('echo before; exit 7')
    const { ended } = await execute(task)

    expect(ended.code).to.equal(2)
    expect(await read(task)).to.deep.include({
      status: 'failed',
      exit_code: 7,
      error: { code: 'exit_nonzero', message: 'The command ended with exit code 7.' }
    })
    expect((await transcript(task))[0]).to.include({ content: 'before\n' })
  })

  it('reports a command that a signal ended as failed, and names the signal', async () => {
    const task = await queue('kill -KILL $$')
    const { ended } = await execute(task)

    expect(ended.code).to.equal(2)
    const { status, exit_code, error } = await read(task)
    expect({ status, exit_code, error }).to.deep.equal({
      status: 'failed',
      exit_code: null,
      error: { code: 'signal', message: 'The command was ended by SIGKILL.' }
    })
  })

  it('ends a command at its time limit with all that it started, and reports it timed out', async () => {
    const task = await queue(`${HEARTBEAT} & echo waiting; sleep 60`)
    const { ended } = await execute(task, { args: ['--timeout', '0.5'] })

    expect(ended.code).to.equal(2)
    expect(await read(task)).to.include({ status: 'timed_out', exit_code: null })
    expect((await transcript(task))[0]).to.include({ content: 'waiting\n' })
    expect(await isBeating(inDirectory('beats'))).to.equal(false)
  })

  it('kills a command that ignores SIGTERM five seconds after its time limit', async () => {
    const task = await queue("trap '' TERM; while :; do sleep 0.1; done")
    const before = Date.now()
    await execute(task, { args: ['--timeout', '0.3'] })

    expect(Date.now() - before).to.be.within(5_300, 15_000)
    expect(await read(task)).to.include({ status: 'timed_out' })
  })

  it('that gets SIGTERM stops the command and reports the task stopped', async () => {
    const task = await queue(HEARTBEAT)
    const { executor, ended } = await begin(task)
    await appears(inDirectory('beats'))
    executor.kill('SIGTERM')

    expect((await ended()).code).to.equal(2)
    expect(await read(task)).to.include({ status: 'stopped', exit_code: null, error: null })
    expect(await isBeating(inDirectory('beats'))).to.equal(false)
  })

  it('leaves nothing running that the command put into the background', async () => {
    const task = await queue(`${HEARTBEAT} & until [ -s beats ]; do sleep 0.01; done`)
    await execute(task)

    expect(await read(task)).to.include({ status: 'completed' })
    expect(await isBeating(inDirectory('beats'))).to.equal(false)
  })

  it('keeps the first and the last 64 KiB of a long output and says how much it cut', async () => {
    const task = await queue('echo first; head -c 300000 /dev/zero | tr "\\0" x; echo; printf "\\377\\000last"')
    await execute(task)

    const content = String((await transcript(task))[0]!['content'])
    expect(content).to.match(/^first\nx/)
    expect(content).to.match(/x\n\ufffdlast$/)
    const cut = 6 + 300_000 + 1 + 3 + 4 - 2 * 65_536
    expect(content).to.contain(`\n[… ${cut} bytes cut …]\n`)
    expect(Buffer.byteLength(content)).to.be.below(2 * 65_536 + 100)
  })

  it('gives the command a clean environment: no credential, nothing of its own but the ids', async () => {
    const task = await queue('env')
    const environment = { STOA_CANARY_SECRET: 'a canary', OTHER_SECRET: 'another canary', LC_TIME: 'C', TERM: 'dumb' }
    const { proxy } = await execute(task, { environment })

    const seen = Object.fromEntries(
      lines((await transcript(task))[0]!['content']).map((line) => line.split('=', 2) as [string, string])
    )
    // The shell itself sets these.
    for (const own of ['PWD', 'OLDPWD', 'SHLVL', '_']) delete seen[own]
    expect(seen).to.have.all.keys('PATH', 'HOME', 'LANG', 'LC_TIME', 'TERM', 'STOA_TASK_ID', 'STOA_SESSION_ID')
    expect(seen).to.include({ STOA_TASK_ID: task.task_id, STOA_SESSION_ID: task.session_id })
    const taskToken = proxy.requests.at(-1)!.headers['authorization']!.replace('Bearer ', '')
    expect(taskToken).to.match(/^stoa_task_/)
    const everything = JSON.stringify(await transcript(task))
    for (const secret of [key(), taskToken, 'canary']) expect(everything).not.to.contain(secret)
  })
})
