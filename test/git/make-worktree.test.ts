import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { codeOf, type Body } from '../support/client.js'
import { startDaemon, type Daemon } from '../support/daemon.js'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { buildWorld, made, type Person } from '../support/world.js'

describe('a worktree of a repository', () => {
  let base: string
  let repository: string
  let daemon: Daemon
  let alice: Person
  let bob: Person

  before(async () => {
    base = await makeDirectory()
    repository = join(base, 'allowed', 'repository')
    await makeRepository(repository)
    await makeRepository(join(base, 'elsewhere'))
    await symlink(join(base, 'elsewhere'), join(base, 'allowed', 'link'))
    await mkdir(join(base, 'allowed', 'plain'))
    await mkdir(join(repository, 'inside'))
    daemon = await startDaemon({ env: { STOA_REPO_ROOTS: join(base, 'allowed') } })
    const world = await buildWorld(daemon.url)
    alice = await world.user('alice')
    bob = await world.user('bob')
  })

  after(async () => {
    await daemon.stop()
    await removeDirectory(base)
  })

  it('is a real one, on a branch of its own at the commit that was named, and stays on disk when the record is removed', async () => {
    const worktree = await made(
      alice.rest.post('/worktrees', { name: 'real', repo_path: repository, ref: git(repository, 'rev-parse', 'HEAD~1') })
    )
    const path = String(worktree['path'])
    expect(worktree).to.include({ repo_path: repository, base_sha: git(repository, 'rev-parse', 'HEAD~1') })
    expect(git(path, 'rev-parse', '--abbrev-ref', 'HEAD')).to.equal(worktree['ref'])
    expect(await readFile(join(path, 'file'), 'utf8')).to.equal('first')

    expect((await alice.rest.del(`/worktrees/${String(worktree['worktree_id'])}`)).status).to.equal(200)
    expect((await stat(path)).isDirectory()).to.equal(true)
  })

  it('runs none of the hooks of the repository', async () => {
    const mark = join(base, 'a hook ran')
    const hook = join(repository, '.git', 'hooks', 'post-checkout')
    await writeFile(hook, `#!/bin/sh\ntouch '${mark}'\n`)
    await chmod(hook, 0o755)
    await made(alice.rest.post('/worktrees', { name: 'hooked', repo_path: repository }))
    expect(await readdir(base)).not.to.include('a hook ran')
  })

  it('runs no program that a directory which only looks like a repository, or a setting of the repository, names', async () => {
    const mark = join(base, 'a setting ran')
    git(repository, 'config', 'core.fsmonitor', `touch '${mark}'`)
    const evil = join(repository, 'evil')
    await mkdir(join(evil, 'objects'), { recursive: true })
    await mkdir(join(evil, 'refs'))
    await writeFile(join(evil, 'HEAD'), 'ref: refs/heads/main\n')
    await writeFile(join(evil, 'config'), `[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch '${mark}'"\n`)
    const answer = await alice.rest.post('/worktrees', { name: 'evil', repo_path: evil })
    expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
    await made(alice.rest.post('/worktrees', { name: 'monitored', repo_path: repository }))
    expect(await readdir(base)).not.to.include('a setting ran')
  })

  it('is not made of another worktree, though its directory lies below an allowed root', async () => {
    const linked = join(base, 'allowed', 'linked')
    git(repository, 'worktree', 'add', '-q', '--detach', linked)
    const answer = await bob.rest.post('/worktrees', { name: 'of a worktree', repo_path: linked })
    expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
  })

  it('does not open what another worktree has committed, by its branch or by a commit id, whole or short', async () => {
    const hers = await made(alice.rest.post('/worktrees', { name: 'hers', repo_path: repository, others_can: 'none' }))
    const path = String(hers['path'])
    await writeFile(join(path, 'secret'), 'secret')
    git(path, 'add', 'secret')
    git(path, '-c', 'user.name=Test', '-c', 'user.email=test@example.com', 'commit', '-q', '-m', 'secret')
    const sha = git(path, 'rev-parse', 'HEAD')
    for (const ref of [String(hers['ref']), sha, sha.slice(0, 8), `${String(hers['ref'])}~0`]) {
      expect(codeOf(await bob.rest.post('/worktrees', { name: 'his', repo_path: repository, ref })), ref).to.equal('invalid')
    }
  })

  const refused: Record<string, () => Body> = {
    'a ref with more in it than a name': () => ({ repo_path: repository, ref: 'HEAD~1' }),
    'a directory inside a repository': () => ({ repo_path: join(repository, 'inside') }),
    'a path outside the allowed roots': () => ({ repo_path: join(base, 'elsewhere') }),
    'a path that leaves the allowed roots with ..': () => ({ repo_path: `${base}/allowed/../elsewhere` }),
    'a link that leads out of the allowed roots': () => ({ repo_path: join(base, 'allowed', 'link') }),
    'a directory that is no repository': () => ({ repo_path: join(base, 'allowed', 'plain') }),
    'a path that does not exist': () => ({ repo_path: join(base, 'allowed', 'nothing') }),
    'a relative path': () => ({ repo_path: 'repository' }),
    'a ref that is not there': () => ({ repo_path: repository, ref: 'no-such-branch' }),
    'a ref that looks like an option': () => ({ repo_path: repository, ref: '--help' })
  }
  for (const [what, body] of Object.entries(refused)) {
    it(`${what} is 400, and leaves neither a record nor a directory`, async () => {
      const before = await everything()
      const answer = await alice.rest.post('/worktrees', { name: 'refused', ...body() })
      expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
      expect(await everything()).to.deep.equal(before)
    })
  }

  it('is not to be had from a daemon whose operator allows no repositories, which says so', async () => {
    const closed = await startDaemon()
    try {
      const carol = await (await buildWorld(closed.url)).user('carol')
      const answer = await carol.rest.post('/worktrees', { name: 'none', repo_path: repository })
      expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
      expect(JSON.stringify(answer.body)).to.include('STOA_REPO_ROOTS')
    } finally {
      await closed.stop()
    }
  })

  /** The records, the directories and git's own list. */
  async function everything(): Promise<unknown> {
    const { total } = (await alice.rest.get('/worktrees')).body
    return [
      total,
      await readdir(join(daemon.home, 'worktrees')),
      git(repository, 'worktree', 'list'),
      git(repository, 'branch', '--list')
    ]
  }
})

async function makeRepository(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
  git(path, 'init', '-q')
  for (const content of ['first', 'second']) {
    await writeFile(join(path, 'file'), content)
    git(path, 'add', 'file')
    git(path, '-c', 'user.name=Test', '-c', 'user.email=test@example.com', 'commit', '-q', '-m', content)
  }
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' }).trim()
}
