import { createRequire } from 'node:module'
import { feathers, type Application } from '@feathersjs/feathers'
import { policies, type Action } from '@stoa/core/policy/actions'
import { createApp } from '@stoa/daemon/app'
import { makeCredentials } from '@stoa/daemon/auth/credentials'
import { signingKey } from '@stoa/daemon/auth/signing-key'
import { readConfig } from '@stoa/daemon/config'
import type { Database } from '@stoa/daemon/db/database'
import { openDatabase } from '@stoa/daemon/db/open'
import type { Deps } from '@stoa/daemon/deps'
import { checkCoverage } from '@stoa/daemon/hooks/check-coverage'
import { registerService } from '@stoa/daemon/hooks/register-service'
import { makeQueueBell } from '@stoa/daemon/dispatch/queue-bell'
import { makeMetrics } from '@stoa/daemon/http/metrics'
import { routes, standardRoutes } from '@stoa/daemon/http/routes'
import { makeLogger } from '@stoa/daemon/logger'
import { expect } from 'chai'
import { makeDirectory, removeDirectory } from '../support/directories.js'

describe('a daemon with a door that nobody has decided about', () => {
  let home: string
  let db: Database
  let deps: Deps
  let app: ReturnType<typeof createApp>

  before(async () => {
    home = await makeDirectory()
    const config = readConfig({ STOA_HOME: home, STOA_LOG_LEVEL: 'silent' })
    db = await openDatabase(config.databaseUrl, () => undefined)
    const credentials = makeCredentials(await signingKey(db, config))
    deps = {
      config,
      credentials,
      db,
      logger: makeLogger(config),
      metrics: makeMetrics(),
      bell: makeQueueBell(),
      now: () => new Date(),
      newId: newId()
    }
    app = createApp(deps)
  })

  after(async () => {
    await db.close()
    await removeDirectory(home)
  })

  for (const action of ['tasks.patch', 'livez.get'] as const) {
    it(`J6: without the policy entry ${action} the app is not made, and the error names the entry`, () => {
      withoutPolicy(action, () => expect(() => createApp(deps)).to.throw(`${action} can be reached but has no policy entry`))
    })
  }

  it('J6: there is no policy entry without which what the app serves would pass its check', () => {
    const unnoticed = (Object.keys(policies) as Action[]).filter((action) => withoutPolicy(action, () => !refuses(action)))
    expect(unnoticed).to.deep.equal([])
    expect(() => checkCoverage(app)).not.to.throw()
  })

  /** The two parts of the check that `createApp` runs; making a whole app for every entry takes a minute. */
  const refuses = (action: Action): boolean =>
    [() => checkCoverage(app), () => routes(app, deps)].some((check) => {
      try {
        check()
        return false
      } catch (error) {
        return (error as Error).message.startsWith(`${action} can be reached`)
      }
    })

  const service = { find: async () => [], archive: async () => ({}) }
  const registration = (name: string, methods: string[]) => ({ service: name, methods, hooks: { around: {} } })

  it('J6: a service that was put onto the app without being registered is refused by its name', () => {
    const bare = feathers()
    bare.use('secrets', service, { methods: ['find'] })
    expect(() => checkCoverage(bare)).to.throw('the service secrets can be reached but has no policy')
  })

  it('J6: a registered service whose methods have no policy entry is refused by its action', () => {
    const bare: Application = feathers()
    registerService(bare, 'secrets', service, registration('secrets', ['find']))
    expect(() => checkCoverage(bare)).to.throw('secrets.find can be reached but has no policy entry')
  })

  it('J6: a custom method without a policy entry is refused by its action, though the service has entries for the others', () => {
    const bare: Application = feathers()
    registerService(bare, 'sessions', service, registration('sessions', ['find', 'archive']))
    expect(() => checkCoverage(bare)).to.throw('sessions.archive can be reached but has no policy entry')
  })

  it('J6: a method whose action has a policy entry but no pipeline before it is refused by its action', () => {
    const bare: Application = feathers()
    registerService(bare, 'sessions', service, registration('sessions', ['find']))
    expect(() => checkCoverage(bare)).to.throw('sessions.find can be reached but has no pipeline before it')
  })

  it('J6: nothing can be added to an app that has been checked', () => {
    expect(() => app.use('late', service)).to.throw('sealed')
    expect(() => app.use((_ctx, next) => next())).to.throw('sealed')
  })

  it('J6: a raw route without a policy entry is refused by its action', () => {
    const debug = { path: '/debug', action: 'debug.get', answer: async () => ({ body: {} }) }
    expect(() => routes(app, deps, [...standardRoutes(deps), debug])).to.throw('debug.get can be reached but has no policy entry')
  })
})

/** The policy is data, so an entry can be taken out for a moment; nothing of ours is replaced. */
function withoutPolicy<T>(action: Action, run: () => T): T {
  const table = policies as unknown as Record<string, unknown>
  const entry = table[action]
  delete table[action]
  try {
    return run()
  } finally {
    table[action] = entry
  }
}

/** The generator that the daemon itself uses. */
function newId(): () => string {
  const fromDaemon = createRequire(import.meta.resolve('@stoa/daemon/app'))
  return (fromDaemon('uuid') as { v7(): string }).v7
}
