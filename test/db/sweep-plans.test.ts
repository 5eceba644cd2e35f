import type { Database, Value } from '@stoa/daemon/db/database'
import { openDatabase } from '@stoa/daemon/db/open'
import { findEmptySessions } from '@stoa/daemon/db/queries/find-empty-sessions'
import { removeEmptySession } from '@stoa/daemon/db/queries/remove-empty-session'
import { expect } from 'chai'
import type { Knex } from 'knex'
import { absentId } from '../support/doors.js'
import { eachStore, rows } from '../support/stores.js'

const TIME = new Date().toISOString()

describe('the queries of a sweep', () => {
  eachStore((kind) => {
    let db: Database
    let connection: Knex

    before(async () => {
      const store = await kind.make()
      db = await openDatabase(store.url, () => undefined)
      kind.afterwards(() => db.close())
      connection = store.connect()
    })

    it('ask indexes only: those of messages, tasks, children and forks by the session, and the walk by the primary key', async () => {
      for (const statement of [...(await statementsOfWalk()), ...removeEmptySession(db.dialect, absentId(), TIME, null)]) {
        const plan = await planOf(statement.sql, statement.params as (string | number)[])
        expect(plan, statement.sql).not.to.match(kind.name === 'SQLite' ? /\bSCAN\b/ : /Seq Scan/)
        if (statement.sql.includes('forked_from'))
          expect(plan, statement.sql).to.match(/sessions_forked_from.*\n?.*(<expr>=\?|Index Cond)/)
      }
    })

    /** What the walk over the sessions asks, of an empty database: where a stretch ends, and what is in it. */
    async function statementsOfWalk(): Promise<{ sql: string; params: Value[] }[]> {
      const asked: { sql: string; params: Value[] }[] = []
      const read: Database['read'] = (sql, params) => {
        asked.push({ sql, params })
        return db.read(sql, params)
      }
      for await (const _session of findEmptySessions({ ...db, read }, TIME)) expect.fail('there is no session')
      expect(asked).to.have.lengthOf(2)
      return asked
    }

    /** PostgreSQL reads small tables from end to end whatever indexes they have, unless it is told not to. */
    async function planOf(sql: string, params: (string | number)[]): Promise<string> {
      if (kind.name === 'PostgreSQL') await rows(connection, 'SET enable_seqscan = off')
      const lines = await rows(connection, `${kind.name === 'SQLite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'} ${sql}`, params)
      return lines.map((line) => String(line['detail'] ?? line['QUERY PLAN'])).join('\n')
    }
  })
})
