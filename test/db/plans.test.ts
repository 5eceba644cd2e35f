import { createRequire } from 'node:module'
import { policies } from '@stoa/core/policy/actions'
import { createApp } from '@stoa/daemon/app'
import { makeCredentials } from '@stoa/daemon/auth/credentials'
import { ensureFirstAdmin } from '@stoa/daemon/auth/first-admin'
import { signingKey } from '@stoa/daemon/auth/signing-key'
import { readConfig } from '@stoa/daemon/config'
import { openDatabase } from '@stoa/daemon/db/open'
import { listen } from '@stoa/daemon/http/listen'
import { makeQueueBell } from '@stoa/daemon/dispatch/queue-bell'
import { makeMetrics } from '@stoa/daemon/http/metrics'
import { makeLogger } from '@stoa/daemon/logger'
import { expect } from 'chai'
import { WITH_ADMIN } from '../support/daemon.js'
import { eachStore, rows, type Store, type StoreKind } from '../support/stores.js'
import { buildWorld } from '../support/world.js'
import { callEveryOperation } from './every-operation.js'
import { recordStatements, type Recording } from './recorded-statements.js'
import { readsAll } from './reads-all.js'

describe('plans', () => {
  eachStore((kind) => {
    let store: Store
    let statements: Recording['statements']

    before(async () => {
      store = await kind.make()
      statements = await runDaemon(kind, store)
    })

    it('every operation is looked at', async () => {
      const recorded = await rows(store.connect(), `SELECT DISTINCT action FROM journal WHERE decision = 'allow'`)
      const called = recorded.map(({ action }) => String(action))
      const asked = Object.entries(policies).flatMap(([action, { resource }]) => (resource === 'daemon' ? [] : [action]))
      expect(asked.filter((action) => !called.includes(action))).to.deep.equal([])
    })

    it('no statement reads a table that grows from its beginning to its end', async () => {
      const found = await readsAll(store.connect(), kind.name, [...statements.values()])
      expect(found, found.join('\n\n')).to.deep.equal([])
    })
  })
})

async function runDaemon({ afterwards }: StoreKind, { home, url }: Store): Promise<Recording['statements']> {
  const config = readConfig({
    STOA_HOME: home,
    STOA_PORT: '0',
    STOA_LOG_LEVEL: 'silent',
    ...WITH_ADMIN,
    ...(url.startsWith('postgres') && { STOA_DATABASE_URL: url })
  })
  const { db, statements } = recordStatements(await openDatabase(config.databaseUrl, () => undefined))
  afterwards(() => db.close())
  const deps = {
    config,
    credentials: makeCredentials(await signingKey(db, config)),
    db,
    logger: makeLogger(config),
    metrics: makeMetrics(),
    bell: makeQueueBell(),
    now: () => new Date(),
    newId: newId()
  }
  await ensureFirstAdmin(deps)
  const { url: address, stop } = await listen(createApp(deps), config.host, config.port)
  afterwards(stop)
  await callEveryOperation(await buildWorld(address))
  return statements
}

/** The generator that the daemon itself uses. */
function newId(): () => string {
  const fromDaemon = createRequire(import.meta.resolve('@stoa/daemon/app'))
  return (fromDaemon('uuid') as { v7(): string }).v7
}
