import type { Contestant } from './contestants.js'
import type { Scale } from './scale/run.js'
import { MESSAGES, SESSIONS, WORKTREES } from './scale/world.js'
import type { StatementCount } from './statements.js'
import type { Line, Ratio } from './summary.js'
import { work, type WorkName } from './work.js'

export interface Results {
  machine: { node: string; cpus: number; cpu: string; load_average: { before: number; after: number } }
  plan: { rounds: number; measure_ms: number; warm_up_ms: number }
  lines: Line[]
  ratios: Ratio[]
  statements: StatementCount[]
}

/** The results as Markdown. */
export function report({ machine, plan, lines, ratios, statements }: Results, contestants: Contestant[]): string {
  const title = (name: string) => contestants.find((contestant) => contestant.name === name)?.title ?? name
  return [
    `Node ${machine.node}, ${machine.cpus} × ${machine.cpu}, load ${machine.load_average.before.toFixed(1)} before and ${machine.load_average.after.toFixed(1)} after; ` +
      `${plan.rounds} interleaved rounds of ${plan.measure_ms} ms; medians, least–most. The load generator is on the same machine: read the ratios. ` +
      `Server CPU is per request and without that of PostgreSQL.`,
    table(
      ['work', 'connections', 'server', 'requests/s', 'least–most', 'p50 ms', 'p99 ms', 'server CPU ms'],
      lines.map((line) => [
        work[line.work].title,
        line.connections,
        title(line.contestant),
        whole(line.per_second),
        `${whole(line.least)}–${whole(line.most)}`,
        fine(line.p50_ms),
        fine(line.p99_ms),
        line.cpu_ms === null ? '' : fine(line.cpu_ms)
      ])
    ),
    pivot(
      'requests/s, how many times',
      ratios,
      ({ contestant, against }) => `${title(contestant)} : ${title(against)}`,
      (each) => `${fine(each.ratio)} (${fine(each.least)}–${fine(each.most)})`
    ),
    pivot(
      'SQL statements per request',
      statements,
      ({ contestant }) => title(contestant),
      ({ per_request }) => per_request.toFixed(1)
    )
  ].join('\n\n')
}

export function reportScale({ plan, lines }: Scale): string {
  return [
    `One connection, as a member who sees a third of the worktrees; ${plan.rounds} interleaved rounds of ${plan.measure_ms} ms; ` +
      `medians, ratio least–most. 1×: a session of ${MESSAGES.toLocaleString('en-US')} messages, ${SESSIONS} sessions, ${WORKTREES} worktrees.`,
    table(
      ['read', 'database', '1× ms', `${plan.factor}× ms`, 'ratio', 'least–most'],
      lines.map((line) => [
        line.work,
        line.database,
        fine(line.small_ms),
        fine(line.large_ms),
        fine(line.ratio),
        `${fine(line.least)}–${fine(line.most)}`
      ])
    )
  ].join('\n\n')
}

/** A row for each kind of work and number of connections, a column for each name. */
function pivot<T extends { work: WorkName; connections: number }>(
  head: string,
  items: T[],
  columnOf: (item: T) => string,
  cell: (item: T) => string
): string {
  const columns = [...new Set(items.map(columnOf))]
  const rowOf = (item: T) => `${work[item.work].title} | ${item.connections}`
  const cellsOf = (row: string) =>
    columns.map((column) =>
      items
        .filter((item) => rowOf(item) === row && columnOf(item) === column)
        .map(cell)
        .join()
    )
  return table(
    [head, 'connections', ...columns],
    [...new Set(items.map(rowOf))].map((row) => [row, ...cellsOf(row)])
  )
}

function table(head: string[], rows: (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US')

const fine = (value: number): string => value.toFixed(value < 10 ? 2 : 1)
