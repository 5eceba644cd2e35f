import { writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { contestants } from './contestants.js'
import { report, reportScale, type Results } from './report.js'
import { runRounds, type Field, type Plan } from './rounds.js'
import { runScale, type ScalePlan } from './scale/run.js'
import { countStatements } from './statements.js'
import { ratios, summarize } from './summary.js'
import { loadTestSupport, type TestSupport } from './test-support.js'

// `npm run bench` takes about seven minutes, `npm run bench -- quick` about two; `npm run bench -- scale` (or `scale quick`)
// does only the part that compares sizes.

const plans = {
  full: { rounds: 5, measure_ms: 650, warm_up_ms: 400 },
  quick: { rounds: 2, measure_ms: 300, warm_up_ms: 200 }
} satisfies Record<string, Plan>

const scalePlans: Record<keyof typeof plans, ScalePlan> = {
  full: { factor: 100, rounds: 5, measure_ms: 500 },
  quick: { factor: 10, rounds: 2, measure_ms: 250 }
}

/** The numerator and the denominator of each ratio that is reported. */
const pairs = [
  ['stoa-sqlite', 'bare-sqlite'],
  ['stoa-sqlite', 'obvious-sqlite'],
  ['stoa-sqlite', 'constant-service'],
  ['stoa-sqlite', 'node-http'],
  ['stoa-postgres', 'bare-postgres']
] as const

async function main(): Promise<void> {
  const words = process.argv.slice(2)
  if (words.some((word) => !['full', 'quick', 'scale'].includes(word)))
    throw new Error('the benchmark is full or quick; scale is the part that compares sizes')
  const size = words.includes('quick') ? 'quick' : 'full'
  const support = await loadTestSupport()
  try {
    if (!words.includes('scale')) await compareServers(support, plans[size])
    const scale = await runScale(support, scalePlans[size], progress)
    await writeFile(new URL('../scale.json', import.meta.url), `${JSON.stringify(scale, null, 2)}\n`)
    process.stdout.write(`\n${reportScale(scale)}\n`)
  } finally {
    await support.stopPostgres()
  }
}

async function compareServers(support: TestSupport, plan: Plan): Promise<void> {
  const before = loadavg()[0]!
  const list = contestants(support)
  const field: Field = []
  const samples = await withAll(field, list, () => runRounds(field, plan, progress))
  progress('counting statements')
  const statements = await countStatements(support)
  const [cpu] = cpus()
  const results: Results = {
    machine: {
      node: process.versions.node,
      cpus: cpus().length,
      cpu: cpu?.model ?? 'unknown',
      load_average: { before, after: loadavg()[0]! }
    },
    plan,
    lines: summarize(samples),
    ratios: ratios(samples, pairs),
    statements
  }
  await writeFile(new URL('../results.json', import.meta.url), `${JSON.stringify({ ...results, samples }, null, 2)}\n`)
  process.stdout.write(`${report(results, list)}\n`)
}

/** All servers are up from the first measurement to the last; only one has work at a time. */
async function withAll<T>(field: Field, list: ReturnType<typeof contestants>, run: () => Promise<T>): Promise<T> {
  try {
    for (const contestant of list) field.push({ contestant, started: await contestant.start() })
    return await run()
  } finally {
    for (const { started } of field) await started.stop()
  }
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

// By way of `exit`, where the daemons and the folders are cleaned up.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

await main()
