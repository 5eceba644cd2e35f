import { appendFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Knex } from 'knex'
import { oneTo } from '../support/appending.js'
import { client, type Client } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { expectExactly, expectRetriesOnce, notTaken, send, taken, type Sent } from '../support/keyed-appends.js'
import { startWithFileLimit, type LimitedDaemon } from '../support/limited-daemon.js'
import { eachStore, rows, type Store } from '../support/stores.js'
import { buildWorld, type Person } from '../support/world.js'

describe('a disk that stops taking writes while messages are appended', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    let store: Store
    let daemon: Daemon
    let alice: Person
    let session_id: string

    beforeEach(async () => {
      store = await kind.make()
      daemon = await store.start()
      const world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      session_id = await world.session(alice, await world.worktree(alice))
    })

    const limitedDaemon = async (kilobytes: number): Promise<LimitedDaemon> => {
      await daemon.stop()
      const limited = await startWithFileLimit(store.home, Math.ceil(kilobytes))
      kind.afterwards(limited.stop)
      return limited
    }

    const onSqlite = () => {
      it('A8: it is full: 503, never a 201 for what is not there; with room again all that was answered 201 is there, nothing else, and a retry succeeds once', async () => {
        const limited = await limitedDaemon((await stat(join(store.home, 'stoa.db'))).size / 1024 + 1024)
        const full = client(limited.url, alice.token)
        const sent: Sent[] = []
        await appendUntil(full, session_id, sent, () => notTaken(sent).length >= 40)
        expect((await full.get(`/messages?session_id=${session_id}`)).status).to.be.oneOf([200, 503])
        expect((await full.get('/livez')).status).to.equal(200)
        expect(await limited.stop()).to.equal(0)
        await expectRecovery(client((await store.start()).url, alice.token), session_id, sent)
      })

      it('A8: it is full for the log alone: every request is still answered, and what is answered 201 is there', async () => {
        const kilobytes = 32 * 1024
        const log = join(store.home, 'logs', 'stoa.log')
        await appendFile(log, '\n')
        await truncate(log, kilobytes * 1024)
        const limited = await limitedDaemon(kilobytes)
        const sent: Sent[] = []
        await appendUntil(client(limited.url, alice.token), session_id, sent, () => sent.length >= 40)
        const end = await limited.stop()
        expect(sent.filter(({ status }) => status !== 201 && status !== 503)).to.deep.equal([])
        expect(end).to.equal(0)
        await expectExactly(client((await store.start()).url, alice.token), session_id, sent)
      })
    }

    const onPostgres = () => {
      /** Waits until they have ended: nothing begun before is still being written. */
      const endOthers = (connection: Knex) =>
        rows(
          connection,
          'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
        )

      it('A8: the database turns read-only: 503, never a 201 for what is not there; once it is back all that was answered 201 is there, nothing else, and a retry succeeds once', async () => {
        const connection = store.connect()
        const name = new URL(store.url).pathname.slice(1)
        const rest = client(daemon.url, alice.token)
        const sent: Sent[] = []
        let readOnly = false
        const turnReadOnly = async () => {
          while (taken(sent).length < 20) await sleep(1)
          await connection.raw(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
          await endOthers(connection)
          readOnly = true
        }
        const refused = () => notTaken(sent).filter(({ open }) => !open).length
        await Promise.all([
          turnReadOnly(),
          appendUntil(
            rest,
            session_id,
            sent,
            () => refused() >= 40,
            () => readOnly
          )
        ])
        expect((await rest.get(`/messages?session_id=${session_id}`)).status).to.equal(503)

        await connection.raw('SET default_transaction_read_only = off')
        await connection.raw(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
        await endOthers(connection)
        await comesBack(rest, session_id)
        await expectRecovery(rest, session_id, sent)
      })

      it('A8: the server ends its connections ten times: what was under way is 503, the rest goes on, all that was answered 201 is there, and a retry succeeds once', async () => {
        const connection = store.connect()
        const rest = client(daemon.url, alice.token)
        const sent: Sent[] = []
        let over = false
        const endThem = async () => {
          for (const round of oneTo(10)) {
            const before = taken(sent).length
            while (taken(sent).length < before + 8 && sent.every(({ status }) => status !== 0)) await sleep(round)
            await endOthers(connection)
          }
          over = true
        }
        await Promise.all([
          endThem(),
          appendUntil(
            rest,
            session_id,
            sent,
            () => over,
            () => false
          )
        ])
        expect(sent.filter(({ status }) => status === 0)).to.deep.equal([])
        await comesBack(rest, session_id)
        await expectRecovery(rest, session_id, sent)
      })
    }

    if (kind.name === 'SQLite') onSqlite()
    else onPostgres()
  })
})

/** Four writers at once, until enough was answered. What was sent before `sure` and failed may have been written or not. */
async function appendUntil(
  rest: Client,
  session_id: string,
  sent: Sent[],
  enough: () => boolean,
  sure: () => boolean = () => true
): Promise<void> {
  const write = async (writer: number) => {
    for (let index = 1; index <= MOST && !enough(); index += 1) {
      const known = sure()
      const answered = await send(rest, session_id, { key: `${writer}-${index}`, size: index % 4 === 0 ? 3 : 1 })
      sent.push({ ...answered, open: answered.open || !known })
      if (answered.status === 0) return
    }
  }
  await Promise.all(oneTo(4).map(write))
}

/** One writer sends no more than this: a daemon that never refuses is not asked for ever. */
const MOST = 2000

async function expectRecovery(rest: Client, session_id: string, sent: Sent[]): Promise<void> {
  expect(taken(sent).length).to.be.greaterThan(3)
  expect([...new Set(notTaken(sent).map(({ status, code }) => `${status} ${code}`))]).to.deep.equal(['503 unavailable'])
  await expectExactly(rest, session_id, sent)
  await expectRetriesOnce(rest, session_id, sent)
}

/** Its first requests may still be given the connections that were ended. */
async function comesBack(rest: Client, session_id: string): Promise<void> {
  for (let attempt = 1; attempt <= 50; attempt += 1) {
    if ((await rest.get(`/sessions/${session_id}`)).status === 200) return
    await sleep(100)
  }
}
