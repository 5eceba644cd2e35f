import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onSqlite, startStoa, type Started } from './contestants.js'
import { send } from './load.js'
import { CONNECTIONS } from './rounds.js'
import type { TestSupport } from './test-support.js'
import { work, type WorkName } from './work.js'

export interface StatementCount {
  contestant: string
  work: WorkName
  connections: number
  /** Calls of the driver, BEGIN and COMMIT included. */
  per_request: number
}

const REQUESTS = 128

/** How many statements SQLite is given for one request: with one connection, and with many, which share what they can. */
export async function countStatements(support: TestSupport): Promise<StatementCount[]> {
  const counts: StatementCount[] = []
  for (const [contestant, start] of starts(support)) {
    const file = join(tmpdir(), `stoa-bench-${process.pid}-${contestant}.count`)
    const preload = new URL('count-statements.js', import.meta.url).href
    const started = await start({ NODE_OPTIONS: `--import=${preload}`, BENCH_COUNT_FILE: file })
    try {
      for (const name of contestant === 'bare-sqlite'
        ? (['patch', 'get', 'message'] as const)
        : (['patch', 'get', 'message', 'refused'] as const)) {
        for (const connections of CONNECTIONS) {
          const before = await readCount(started, file)
          await send(started.world, work[name], connections, REQUESTS)
          counts.push({
            contestant,
            work: name,
            connections,
            per_request: ((await readCount(started, file)) - before) / REQUESTS
          })
        }
      }
    } finally {
      await started.stop()
      await rm(file, { force: true })
    }
  }
  return counts
}

function starts(support: TestSupport): [string, (env: Record<string, string>) => Promise<Started>][] {
  return [
    ['bare-sqlite', (env) => onSqlite('bare', env)],
    ['obvious-sqlite', (env) => onSqlite('obvious', env)],
    ['stoa-sqlite', (env) => startStoa(support, { env })]
  ]
}

/** Asks the server, which writes the file anew, and waits for it. */
async function readCount({ pid }: Started, file: string): Promise<number> {
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (let tries = 0; tries < 500; tries += 1) {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text.endsWith('\n')) return Number(text)
    await sleep(10)
  }
  throw new Error('the server did not tell its count of statements')
}
