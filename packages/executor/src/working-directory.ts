import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Worktree } from '@stoa/core/schema/worktrees'
import { ExecutorError } from './executor-error.js'

/** The worktree's own directory, or the one that was given for those that have none. */
export async function workingDirectory(worktree: Worktree, given: string | null): Promise<string> {
  const directory = worktree.path ?? given
  if (directory === null) {
    throw new ExecutorError('The worktree is a record without a directory: say with --dir where the task is to run.')
  }
  const isDirectory = await stat(directory).then(
    (found) => found.isDirectory(),
    () => false
  )
  if (!isDirectory) throw new ExecutorError(`The directory ${directory} is not there on this machine.`)
  return directory
}

/** Whoever names one task means the directory as well; it must not run in another one. */
export function refuseOtherDirectory(worktree: Worktree, given: string | null): void {
  if (worktree.path === null || given === null || resolve(worktree.path) === given) return
  throw new ExecutorError(`The worktree has a directory of its own, ${worktree.path}: leave out --dir.`)
}
