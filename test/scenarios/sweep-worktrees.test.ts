import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { eachStore } from '../support/stores.js'
import { made } from '../support/world.js'
import { NONE_KEPT, setTheScene, type SweepScene } from './sweep-scene.js'

describe('the sweep of empty sessions in git worktrees', () => {
  eachStore((kind) => {
    let base: string
    let repository: string
    let scene: SweepScene

    before(async () => {
      base = await makeDirectory()
      repository = join(base, 'repository')
      await makeRepository(repository)
      scene = await setTheScene(kind, { STOA_REPO_ROOTS: base })
    })

    after(() => removeDirectory(base))

    /** A real worktree with one empty session. */
    const place = async (): Promise<{ path: string; session_id: string }> => {
      const body = await made(scene.alice.rest.post('/worktrees', { name: 'real', repo_path: repository }))
      return { path: String(body['path']), session_id: await scene.empty(String(body['worktree_id'])) }
    }

    const expectKept = async (): Promise<void> => {
      for (const dry of [true, false])
        expect(await scene.sweep(dry)).to.deep.include({ removed: [], kept: { ...NONE_KEPT, in_changed_worktree: 1 } })
    }

    const expectRemoved = async (session_id: string): Promise<void> => {
      const { removed } = await scene.sweep(false)
      expect(removed.map((each) => each.session_id)).to.deep.equal([session_id])
    }

    const changes: Record<string, { change(path: string): Promise<unknown>; back(path: string): Promise<unknown> }> = {
      'a file that was edited': {
        change: (path) => writeFile(join(path, 'file'), 'edited'),
        back: (path) => writeFile(join(path, 'file'), 'first')
      },
      'a new file': { change: (path) => writeFile(join(path, 'new'), 'new'), back: (path) => rm(join(path, 'new')) },
      'a file that is only staged': {
        change: async (path) => {
          await writeFile(join(path, 'file'), 'staged')
          git(path, 'add', 'file')
        },
        back: async (path) => git(path, 'reset', '-q', '--hard')
      },
      'a new file that a setting of the repository hides': {
        change: async (path) => {
          git(path, 'config', 'status.showUntrackedFiles', 'no')
          await writeFile(join(path, 'new'), 'new')
        },
        back: (path) => rm(join(path, 'new'))
      },
      'no directory any more': {
        change: (path) => rename(path, `${path}.away`),
        back: (path) => rename(`${path}.away`, path)
      },
      // The home of the daemon may itself lie in somebody's repository, which is clean.
      'a directory that is no git worktree any more, below one that is': {
        change: async (path) => {
          git(scene.daemon.home, 'init', '-q')
          await writeFile(join(scene.daemon.home, '.git', 'info', 'exclude'), '*\n')
          await rename(join(path, '.git'), join(path, '.git.away'))
        },
        back: (path) => rename(join(path, '.git.away'), join(path, '.git'))
      }
    }
    for (const [what, { change, back }] of Object.entries(changes)) {
      it(`G3: with ${what} the session is kept, and once the worktree is as it was it is removed`, async () => {
        const { path, session_id } = await place()
        await change(path)
        await expectKept()
        await back(path)
        await expectRemoved(session_id)
      })
    }

    it('a clean worktree is asked without running any program that the repository names, and is not touched', async () => {
      const { path, session_id } = await place()
      const mark = join(base, 'it ran')
      git(repository, 'config', 'core.fsmonitor', `touch '${mark}'`)
      const hook = join(repository, '.git', 'hooks', 'post-index-change')
      await writeFile(hook, `#!/bin/sh\ntouch '${mark}'\n`)
      await chmod(hook, 0o755)
      const before = await readdir(path)
      await expectRemoved(session_id)
      expect(await readdir(path)).to.deep.equal(before)
      expect(await readdir(base)).not.to.include('it ran')
    })

    it('a worktree whose repository names a program to compare files with is not asked, and the program does not run', async () => {
      const { path, session_id } = await place()
      const mark = join(base, 'the filter ran')
      git(path, 'config', 'filter.own.clean', `touch '${mark}'; cat`)
      await writeFile(join(repository, '.git', 'info', 'attributes'), '* filter=own\n')
      // The same text again: git has to compare, and would ask the filter.
      await writeFile(join(path, 'file'), 'first')
      await expectKept()
      expect(await readdir(base)).not.to.include('the filter ran')
      git(path, 'config', '--unset', 'filter.own.clean')
      await expectRemoved(session_id)
    })

    it('one worktree with changes keeps all of its sessions and none of another', async () => {
      const [changed, clean] = [await place(), await place()]
      const [{ worktree_id } = {}] = await scene.run('SELECT worktree_id FROM sessions WHERE session_id = ?', changed.session_id)
      await scene.empty(String(worktree_id))
      await writeFile(join(changed.path, 'new'), 'new')
      const { removed, kept } = await scene.sweep(false)
      expect([removed.map(({ session_id }) => session_id), kept.in_changed_worktree]).to.deep.equal([[clean.session_id], 2])
    })
  })
})

async function makeRepository(path: string): Promise<void> {
  await mkdir(path)
  git(path, 'init', '-q')
  await writeFile(join(path, 'file'), 'first')
  git(path, 'add', 'file')
  git(path, '-c', 'user.name=Test', '-c', 'user.email=test@example.com', 'commit', '-q', '-m', 'first')
}

function git(cwd: string, ...args: string[]): void {
  execFileSync('git', args, { cwd })
}
