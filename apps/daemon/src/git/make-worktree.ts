import { execFile } from 'node:child_process'
import { mkdir, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { StoaError } from '@stoa/core/errors'

const run = promisify(execFile)

export interface MadeWorktree {
  repo_path: string
  path: string
  ref: string
  base_sha: string
  /** Takes it away again, for a record that could not be written after all. */
  undo(): Promise<void>
}

/**
 * `git worktree add` on a branch of its own. Only repositories below the allowed roots, with links resolved first; the
 * repository's hooks do not run, because whoever names a repository must not choose what the daemon executes.
 */
export async function makeWorktree(options: { repoPath: string; ref: string; roots: string[]; home: string; worktreeId: string }): Promise<MadeWorktree> {
  const repo = await allowedRepository(options.repoPath, options.roots)
  const base_sha = await resolveCommit(repo, options.ref)
  const branch = `stoa/${options.worktreeId}`
  const parent = join(options.home, 'worktrees')
  await mkdir(parent, { recursive: true })
  const path = join(parent, options.worktreeId)
  try {
    await git(repo, 'worktree', 'add', '-b', branch, path, base_sha)
  } catch (cause) {
    throw new StoaError('invalid', { errors: [{ field: 'repo_path', message: 'git could not make a worktree of this repository' }], cause })
  }
  const undo = async () => {
    await git(repo, 'worktree', 'remove', '--force', path)
    await git(repo, 'branch', '-D', branch)
  }
  return { repo_path: repo, path, ref: branch, base_sha, undo }
}

async function allowedRepository(repoPath: string, roots: string[]): Promise<string> {
  const refused = (message: string, cause?: unknown) => new StoaError('invalid', { errors: [{ field: 'repo_path', message }], cause })
  if (roots.length === 0) throw refused('no repositories are allowed: an operator sets STOA_REPO_ROOTS')
  if (!isAbsolute(repoPath)) throw refused('must be an absolute path')
  const outside = () => refused('is not a git repository below an allowed root')
  const repo = await realpath(repoPath).catch(() => null)
  const allowed = await Promise.all(roots.map((root) => realpath(root).catch(() => null)))
  if (repo === null || !allowed.some((root) => root !== null && isInside(root, repo))) throw outside()
  const top = await git(repo, 'rev-parse', '--show-toplevel').catch(() => null)
  if (top === null || !allowed.some((root) => root !== null && isInside(root, top))) throw outside()
  return repo
}

function isInside(root: string, path: string): boolean {
  const below = relative(root, path)
  return below === '' || (!below.startsWith('..') && !isAbsolute(below))
}

async function resolveCommit(repo: string, ref: string): Promise<string> {
  try {
    return await git(repo, 'rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`)
  } catch (cause) {
    throw new StoaError('invalid', { errors: [{ field: 'ref', message: 'is not a commit of this repository' }], cause })
  }
}

async function git(repo: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', ['-C', repo, '-c', 'core.hooksPath=/dev/null', ...args], { timeout: 60_000, maxBuffer: 1_000_000 })
  return stdout.trim()
}
