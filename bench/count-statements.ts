import { writeFileSync } from 'node:fs'
import sqlite3 from 'sqlite3'

// Loaded into a server before its own code: counts what it gives to SQLite, and writes the count when it is asked.

let count = 0
countCalls(sqlite3.Statement.prototype, ['run', 'get', 'all', 'each'])
countCalls(sqlite3.Database.prototype, ['exec'])
process.on('SIGUSR2', () => writeFileSync(process.env['BENCH_COUNT_FILE']!, `${count}\n`))

/** knex goes through Database.prototype.all and the like, which are made of these. */
function countCalls(prototype: object, names: string[]): void {
  const methods = prototype as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const original = methods[name]!
    methods[name] = function (this: unknown, ...args: unknown[]) {
      count += 1
      return original.apply(this, args)
    }
  }
}
