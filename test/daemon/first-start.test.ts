import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { makeDirectory, removeDirectory } from '../support/directories.js'

const STARTS = 3
const ROUNDS = 1000

describe('first starts at the same moment in one home', () => {
  let parent: string

  before(async () => {
    parent = await makeDirectory()
  })

  after(() => removeDirectory(parent))

  it(`all have the same secret, ${ROUNDS} times, and none finds it half written`, async () => {
    const homes = Array.from({ length: ROUNDS }, (_, round) => join(parent, String(round)))
    homes.forEach((home) => mkdirSync(home))
    // The number of the round that has begun, and how many starts have come to their line.
    const turn = new Int32Array(new SharedArrayBuffer(8))
    const found = new Map<string, Set<string>>()
    const workers = Array.from(
      { length: STARTS },
      () => new Worker(new URL('first-start-worker.js', import.meta.url), { workerData: { turn, homes } })
    )
    const ended = Promise.all(
      workers.map((worker) => new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject)))
    )
    for (const worker of workers) {
      worker.on('message', ({ home, secret }: { home: string; secret: string }) =>
        found.set(home, (found.get(home) ?? new Set()).add(secret))
      )
    }
    for (let round = 1; round <= ROUNDS; round += 1) {
      while (Atomics.load(turn, 1) < STARTS * round) await nextTurn()
      Atomics.store(turn, 0, round)
      Atomics.notify(turn, 0)
    }
    await ended
    expect(found.size).to.equal(ROUNDS)
    const failures = [...found.values()].flatMap((secrets) => [...secrets]).filter((secret) => secret.includes(' '))
    expect([...new Set(failures)], `${failures.length} starts failed`).to.deep.equal([])
    expect([...found.values()].filter((secrets) => secrets.size > 1)).to.deep.equal([])
  })
})
