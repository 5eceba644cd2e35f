import { parentPort, workerData } from 'node:worker_threads'
import { readConfig } from '@stoa/daemon/config'

/** Reads the settings of one home after the other, each at the moment when all the others do. */
const { turn, homes } = workerData as { turn: Int32Array; homes: string[] }
const STARTED = 0
const READY = 1

for (const [index, home] of homes.entries()) {
  Atomics.add(turn, READY, 1)
  Atomics.wait(turn, STARTED, index)
  try {
    parentPort!.postMessage({ home, secret: String(readConfig({ STOA_HOME: home }).secret) })
  } catch (error) {
    parentPort!.postMessage({ home, secret: (error as Error).message })
  }
}
