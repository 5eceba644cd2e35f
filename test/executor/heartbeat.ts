import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Runs until it is ended, and can be seen to run: in the file `beats`. */
export const HEARTBEAT = '(while :; do echo beat >>beats; sleep 0.05; done)'

/** Whether anything of HEARTBEAT still runs. */
export async function isBeating(beats: string): Promise<boolean> {
  const before = await readFile(beats, 'utf8')
  await sleep(300)
  return before !== (await readFile(beats, 'utf8'))
}

/** Waits for a file with something in it. */
export async function appears(file: string): Promise<void> {
  while (!existsSync(file) || (await readFile(file, 'utf8')) === '') await sleep(10)
}
