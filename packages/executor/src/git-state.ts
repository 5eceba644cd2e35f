import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Task } from '@stoa/core/schema/tasks'
import type { Environment } from './environment.js'

export type GitState = NonNullable<Task['git_state']>

export interface GitHead {
  /** The branch; null when HEAD is detached. */
  ref: string | null
  /** Null before the first commit. */
  sha: string | null
}

/** Null when the directory is not in a git work tree, or git is not there or does not trust its owner. */
export async function readGitHead(directory: string, environment: Environment): Promise<GitHead | null> {
  const git = gitIn(directory, environment)
  if ((await git('rev-parse', '--is-inside-work-tree')) !== 'true') return null
  const ref = await git('symbolic-ref', '--quiet', '--short', 'HEAD')
  const sha = await git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}')
  // The schema's limit; a cut name would be that of another branch.
  return { ref: ref !== null && ref.length <= 400 ? ref : null, sha }
}

/** What the command made of the work tree: `ref` and `dirty` are those at its end. */
export async function readGitState(directory: string, environment: Environment, start: GitHead | null): Promise<GitState | null> {
  const end = await readGitHead(directory, environment)
  if (!start && !end) return null
  const git = gitIn(directory, environment)
  const changes = end && (await git('status', '--porcelain', '--no-renames'))
  const committed = end?.sha != null && end.sha !== start?.sha
  const message = committed ? await git('log', '-1', '--format=%B', end.sha!) : null
  return {
    ref: end ? end.ref : start!.ref,
    sha_at_start: start?.sha ?? null,
    sha_at_end: end?.sha ?? null,
    dirty: changes === null ? null : changes !== '',
    commit_message: message === null ? null : [...message.replaceAll('\0', '')].slice(0, 10_000).join('')
  }
}

const run = promisify(execFile)

/** One git command's output without the line breaks around it; null when git refuses. */
function gitIn(directory: string, environment: Environment) {
  return async (...args: string[]): Promise<string | null> => {
    try {
      // The repository's own configuration may name a program to watch for changes; it has no business here.
      const { stdout } = await run('git', ['-c', 'core.fsmonitor=false', ...args], {
        cwd: directory,
        env: environment,
        timeout: 30_000,
        maxBuffer: 64 * 1024 * 1024
      })
      return stdout.trim()
    } catch {
      // git_state is a courtesy of the report, so whatever is wrong with git never fails the task.
      return null
    }
  }
}
