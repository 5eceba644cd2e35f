import { rmSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new, empty directory, by its real path. One that nobody has removed goes when the tests end. */
export async function makeDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'stoa-test-')))
  directories.add(directory)
  return directory
}

export async function removeDirectory(directory: string): Promise<void> {
  await rm(directory, REMOVAL)
  directories.delete(directory)
}

/** A process that was just killed may still be writing. */
const REMOVAL = { recursive: true, force: true, maxRetries: 3 }
const directories = new Set<string>()

process.on('exit', () => {
  for (const directory of directories) rmSync(directory, REMOVAL)
})
