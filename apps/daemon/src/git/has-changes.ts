import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Whether a worktree on disk has changes that are in no commit, new files included. What cannot be asked (it is gone, on
 * another machine, or takes too long) counts as changed. The repository is named and not looked for, because git would go on
 * looking in the directories above. An agent has worked there, so nothing in it may choose what we run: what could (a filter, a
 * submodule with settings of its own) is not asked either.
 */
export async function hasChanges(path: string, stop?: AbortSignal): Promise<boolean> {
  const git = async (...args: string[]): Promise<string> => {
    const at = ['-C', path, `--git-dir=${join(path, '.git')}`, `--work-tree=${path}`, '--no-optional-locks']
    const { stdout } = await run('git', [...at, ...HARMLESS, ...args], {
      timeout: TIMEOUT_MS,
      maxBuffer: 1_000_000,
      signal: stop
    })
    return stdout
  }
  try {
    if (existsSync(join(path, '.gitmodules'))) return true
    const settings = await git('config', '--list', '--name-only')
    if (/^filter\..*\.(clean|process)$/im.test(settings)) return true
    return (await git('status', '--porcelain', '--untracked-files=normal', '--ignore-submodules=none')) !== ''
  } catch {
    // git failed, ran out of time or had too much to say: none of them is a clean worktree.
    return true
  }
}

/** No hook, no monitor, and no fetching of what is missing. */
const HARMLESS = [
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false'],
  ...['-c', 'safe.bareRepository=explicit', '-c', 'protocol.allow=never']
]

const TIMEOUT_MS = 10_000
