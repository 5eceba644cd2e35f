import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { realpath, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { made, text } from '../support/world.js'
import { executorWorld, lines } from './executor-world.js'

describe('an executor in a git work tree', () => {
  const { ann, directory, inDirectory, queue, execute, read, transcript } = executorWorld()
  let first: string

  beforeEach(() => {
    git('init', '--quiet', '--initial-branch', 'trunk')
    git('config', 'user.name', 'Ann')
    git('config', 'user.email', 'ann@example.com')
    git('config', 'commit.gpgsign', 'false')
    git('commit', '--quiet', '--allow-empty', '-m', 'the first commit')
    first = git('rev-parse', 'HEAD')
  })

  it('reports the commit that the command made, its message and its branch', async () => {
    const task = await queue(
      "git checkout -q -b feature && echo x >x && git add x && git commit -q -m 'add x' -m 'because it was missing'"
    )
    await execute(task)

    expect((await read(task))['git_state']).to.deep.equal({
      ref: 'feature',
      sha_at_start: first,
      sha_at_end: git('rev-parse', 'HEAD'),
      dirty: false,
      commit_message: 'add x\n\nbecause it was missing'
    })
  })

  it('reports a work tree that the command left dirty, and no message where nothing was committed', async () => {
    const task = await queue('echo x >x; exit 1')
    await execute(task)

    expect((await read(task))['git_state']).to.deep.equal({
      ref: 'trunk',
      sha_at_start: first,
      sha_at_end: first,
      dirty: true,
      commit_message: null
    })
  })

  it('has no branch to report where HEAD is detached', async () => {
    git('checkout', '--quiet', '--detach')
    const task = await queue('true')
    await execute(task)

    expect((await read(task))['git_state']).to.include({ ref: null, sha_at_end: first, dirty: false })
  })

  it('runs in the directory of the worktree, where the daemon made one, and refuses another', async () => {
    const real = await made(ann().rest.post('/worktrees', { name: 'a real one', repo_path: directory(), ref: 'trunk' }))
    const task = await queue('pwd', text(real, 'worktree_id'))
    const elsewhere = await execute(task)
    expect(elsewhere.ended.code).to.equal(1)
    expect(elsewhere.ended.stderr).to.contain('leave out --dir')

    await execute(task, { directory: null })
    expect(lines((await transcript(task))[0]!['content'])).to.deep.equal([await realpath(text(real, 'path'))])
    expect((await read(task))['git_state']).to.include({ ref: text(real, 'ref'), sha_at_start: first, dirty: false })
  })

  it('does not run what the configuration of the repository names, when it looks at the state', async () => {
    await writeFile(inDirectory('.git/watch.sh'), `#!/bin/sh\ntouch '${directory()}/.git/watched'\n`, { mode: 0o755 })
    const task = await queue('git config core.fsmonitor .git/watch.sh')
    await execute(task)

    expect((await read(task))['git_state']).to.include({ dirty: false })
    expect(existsSync(inDirectory('.git/watched'))).to.equal(false)
  })

  function git(...args: string[]): string {
    return execFileSync('git', args, { cwd: directory(), encoding: 'utf8' }).trim()
  }
})
