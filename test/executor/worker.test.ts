import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { made } from '../support/world.js'
import { eachDatabase } from '../support/databases.js'
import { appears, HEARTBEAT, isBeating } from './heartbeat.js'
import { workerWorld } from './worker-world.js'

const ONCE = { args: ['--once'] }

eachDatabase((database) => {
  describe('an executor that takes tasks', () => {
    const { ann, key, inDirectory, queue, work, read, becomes, transcript, history } = workerWorld(database.start)

    it('takes a task, runs it, stores its output and reports its end', async () => {
      const task = await queue('echo hello', { agent: 'shell' })
      const ended = await work(ONCE).ended()

      expect(ended).to.include({ code: 0, stderr: '' })
      expect(ended.stdout).to.contain(`task ${task} completed`)
      expect(await read(task)).to.include({ status: 'completed', exit_code: 0, attempt: 1 })
      expect((await transcript(task)).map(({ content, role, task_id }) => ({ content, role, task_id }))).to.deep.equal([
        { content: 'hello\n', role: 'assistant', task_id: task }
      ])
      expect((await history(task)).slice(-3)).to.deep.equal(['dispatching', 'running', 'completed'])
    })

    it('stops a task that somebody asks to stop, with all that it started, and says that SIGTERM did it', async () => {
      const task = await queue(`echo begun; ${HEARTBEAT} & wait`)
      const { ended } = work(ONCE)
      await appears(inDirectory('beats'))
      await made(ann().rest.post(`/tasks/${task}/stop`))

      expect(await becomes(task, 'stopped')).to.deep.include({
        because: 'Asked to stop. The command ended on SIGTERM.',
        exit_code: null,
        error: null
      })
      expect(await isBeating(inDirectory('beats'))).to.equal(false)
      expect((await transcript(task))[0]).to.include({ content: 'begun\n' })
      expect((await ended()).code).to.equal(0)
    })

    it('kills a task that ignores SIGTERM, five seconds later, and says that SIGKILL did it; its lease lives meanwhile', async () => {
      const task = await queue(`trap '' TERM; ${HEARTBEAT}`)
      work(ONCE)
      await appears(inDirectory('beats'))
      await made(ann().rest.post(`/tasks/${task}/stop`))

      const { because, attempt } = await becomes(task, 'stopped')
      expect(because).to.equal('Asked to stop. The command did not end on SIGTERM within 5 s and was ended by SIGKILL.')
      expect(attempt).to.equal(1)
      expect(await isBeating(inDirectory('beats'))).to.equal(false)
    })

    it('that gets SIGTERM stops its task, reports it stopped, says why, and ends with 0', async () => {
      const task = await queue(HEARTBEAT)
      const { stop } = work()
      await appears(inDirectory('beats'))

      expect(await stop()).to.include({ code: 0, stderr: '' })
      const { status, because } = await read(task)
      expect({ status, because }).to.deep.equal({
        status: 'stopped',
        because: 'The executor was told to stop. The command ended on SIGTERM.'
      })
      expect(await isBeating(inDirectory('beats'))).to.equal(false)
    })

    it('fails a task for an agent that it has no driver for, says what to do, and runs nothing', async () => {
      const task = await queue('touch it-ran', { agent: 'nonesuch' })
      const ended = await work({ args: ['--once', '--agents', 'shell,nonesuch'] }).ended()

      expect(ended.stdout).to.contain('no driver for nonesuch')
      const { status, error } = await read(task)
      expect(status).to.equal('failed')
      expect(error).to.have.property('code', 'agent_missing')
      expect(error).to.have.property('message').that.contains('"nonesuch"').and.contains('shell')
      expect(existsSync(inDirectory('it-ran'))).to.equal(false)
      expect(await transcript(task)).to.deep.equal([])
    })

    it('fails a task that has no directory to run in, and says what to do', async () => {
      const task = await queue('true')
      await work({ ...ONCE, directory: null }).ended()

      const { status, error } = await read(task)
      expect(status).to.equal('failed')
      expect(error).to.have.property('code', 'directory_missing')
      expect(error).to.have.property('message').that.contains('--dir')
    })

    it('shows neither its key nor the token to the command, to the transcript or to whoever reads what it says', async () => {
      const task = await queue("env; tr '\\0' '\\n' </proc/$PPID/cmdline; tr '\\0' '\\n' </proc/$PPID/environ")
      const ended = await work(ONCE).ended()

      const [message] = await transcript(task)
      expect(message!['content']).to.contain(`STOA_TASK_ID=${task}`)
      for (const text of [String(message!['content']), ended.stdout, ended.stderr]) {
        expect(text).not.to.contain(key())
        expect(text).not.to.contain('stoa_task_')
        expect(text).not.to.contain('stoa_pat_')
      }
    })

    it('runs a task by its id with --task as well, and fails it there too when it has no driver', async () => {
      const task = await queue('touch it-ran', { agent: 'nonesuch' })
      const { secret } = await made(ann().rest.post('/api-keys', { name: 'a key' }))
      const ended = await work({ args: ['--task', task], credential: { STOA_KEY: String(secret) } }).ended()

      expect(ended.code).to.equal(2)
      expect((await read(task))['error']).to.have.property('code', 'agent_missing')
      expect(existsSync(inDirectory('it-ran'))).to.equal(false)
    })
  })
})
