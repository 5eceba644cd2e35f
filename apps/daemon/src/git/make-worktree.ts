import { execFile } from 'node:child_process'
import { mkdir, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { StoaError } from '@stoa/core/errors'

const run = promisify(execFile)

const BRANCH_PREFIX = 'stoa/'

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
 * repository's hooks do not run, because whoever names a repository must not choose what the daemon executes. Filters that
 * the repository's own configuration sets up (git-lfs, say) do run: an allowed root is one that its operator trusts.
 */
export async function makeWorktree(options: {
  repoPath: string
  ref: string
  roots: string[]
  home: string
  worktreeId: string
}): Promise<MadeWorktree> {
  const repo = await allowedRepository(options.repoPath, options.roots)
  const base_sha = await resolveCommit(repo, options.ref)
  const branch = `${BRANCH_PREFIX}${options.worktreeId}`
  const parent = join(options.home, 'worktrees')
  await mkdir(parent, { recursive: true })
  const path = join(parent, options.worktreeId)
  try {
    await git(repo, 'worktree', 'add', '-b', branch, path, base_sha)
  } catch (cause) {
    throw new StoaError('invalid', {
      errors: [{ field: 'repo_path', message: 'git could not make a worktree of this repository' }],
      cause
    })
  }
  const undo = async () => {
    await git(repo, 'worktree', 'remove', '--force', path)
    await git(repo, 'branch', '-D', branch)
  }
  return { repo_path: repo, path, ref: branch, base_sha, undo }
}

async function allowedRepository(repoPath: string, roots: string[]): Promise<string> {
  const refused = (message: string, cause?: unknown) =>
    new StoaError('invalid', { errors: [{ field: 'repo_path', message }], cause })
  if (roots.length === 0) throw refused('no repositories are allowed: an operator sets STOA_REPO_ROOTS')
  if (!isAbsolute(repoPath)) throw refused('must be an absolute path')
  const outside = () => refused('is not a git repository below an allowed root')
  const repo = await realpath(repoPath).catch(() => null)
  const allowed = await Promise.all(roots.map((root) => realpath(root).catch(() => null)))
  if (repo === null || !allowed.some((root) => root !== null && isInside(root, repo))) throw outside()
  // Not a directory inside a repository; not one that keeps its data elsewhere; and not a worktree: that is somebody's own.
  const [top, data, own] = await Promise.all([
    askPath(repo, '--show-toplevel'),
    askPath(repo, '--git-common-dir'),
    askPath(repo, '--git-dir')
  ])
  if (top !== repo || data === null || data !== own) throw outside()
  if (!allowed.some((root) => root !== null && isInside(root, data))) throw outside()
  return repo
}

function askPath(repo: string, question: string): Promise<string | null> {
  return git(repo, 'rev-parse', '--path-format=absolute', question).catch(() => null)
}

function isInside(root: string, path: string): boolean {
  const below = relative(root, path)
  return below === '' || (!below.startsWith('..') && !isAbsolute(below))
}

/**
 * HEAD, a branch, a tag, or a whole commit id that one of those contains. Nothing else of git's revision syntax: short ids can
 * be guessed, and our own branches are other people's worktrees.
 */
async function resolveCommit(repo: string, ref: string): Promise<string> {
  const missing = (cause?: unknown) =>
    new StoaError('invalid', {
      errors: [{ field: 'ref', message: 'is not HEAD, a branch, a tag or a commit of one of them' }],
      cause
    })
  if (ref.startsWith(BRANCH_PREFIX)) throw missing()
  if (/^[0-9a-f]{40}$/.test(ref)) {
    const containing = await git(
      repo,
      'for-each-ref',
      '--contains',
      ref,
      '--format=%(refname:short)',
      'refs/heads',
      'refs/tags'
    ).catch(() => '')
    if (containing.split('\n').some((name) => name !== '' && !name.startsWith(BRANCH_PREFIX))) return ref
    throw missing()
  }
  const names = ref === 'HEAD' ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`]
  for (const name of names) {
    const commit = await git(repo, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`).catch(() => null)
    if (commit && isPlainRef(ref)) return commit
  }
  throw missing()
}

/** git's own rule for names, without the characters that its revision syntax adds to them. */
function isPlainRef(ref: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._/+-]*$/.test(ref) && !ref.includes('..')
}

/** No configuration that the repository brings may run a program of its choice, and files that only look like one are none. */
const distrust = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'safe.bareRepository=explicit'].flatMap((setting) => [
  '-c',
  setting
])

async function git(repo: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', ['-C', repo, ...distrust, ...args], { timeout: 60_000, maxBuffer: 1_000_000 })
  return stdout.trim()
}
