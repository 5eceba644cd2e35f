import type { Database, Statement, Step } from '@stoa/daemon/db/database'

export interface Recording {
  db: Database
  /** Every text that was run, once, with the parameters of one of its runs; placeholders are those of the driver. */
  statements: Map<string, Statement>
}

/** A database that remembers what it is asked: single reads, the steps of units, and the lists that knex builds. */
export function recordStatements(db: Database): Recording {
  const statements = new Map<string, Statement>()
  const remember = (sql: string, params: Statement['params']) => {
    const text = db.dialect.name === 'postgres' ? numbered(sql) : sql
    if (!statements.has(text)) statements.set(text, { sql: text, params })
  }
  db.knex.on('query', ({ sql, bindings }: { sql: string; bindings: Statement['params'] }) => remember(sql, bindings))
  return {
    statements,
    db: {
      ...db,
      read: (sql, params) => {
        remember(sql, params)
        return db.read(sql, params)
      },
      commit: (unit) => {
        for (const step of unit.steps) remember(...whole(step))
        return db.commit(unit)
      }
    }
  }
}

function whole({ first, sql, params }: Step): [string, Statement['params']] {
  return first ? [`WITH ${first.name} AS (${first.sql}) ${sql}`, [...first.params, ...params]] : [sql, params]
}

function numbered(sql: string): string {
  let position = 0
  return sql.replaceAll('?', () => `$${(position += 1)}`)
}
