import { v7 as newId } from 'uuid'
import { createApp } from './app.js'
import { makeCredentials } from './auth/credentials.js'
import { ensureFirstAdmin, refuseGeneratedPassword } from './auth/first-admin.js'
import { signingKey } from './auth/signing-key.js'
import { SettingError, readConfig } from './config.js'
import { openDatabase } from './db/open.js'
import type { Deps } from './deps.js'
import { expireLeases } from './dispatch/expire-leases.js'
import { makeQueueBell } from './dispatch/queue-bell.js'
import { listen } from './http/listen.js'
import { makeMetrics } from './http/metrics.js'
import { makeLogger } from './logger.js'
import { scheduleSweeps } from './sweep/schedule-sweeps.js'

/** The process: settings, database, app, ready line, and an orderly end. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const logger = makeLogger(config)
  const db = await openDatabase(config.databaseUrl, (error) => logger.warn({ err: error }, 'a database connection was lost'))
  const deps: Deps = {
    bell: makeQueueBell(),
    config,
    credentials: makeCredentials(await signingKey(db, config)),
    db,
    logger,
    metrics: makeMetrics(),
    now: () => new Date(),
    newId
  }

  const signInToken = await ensureFirstAdmin(deps)
  await refuseGeneratedPassword(deps)
  const listening = await listen(createApp(deps), config.host, config.port)
  const sweeps = scheduleSweeps(deps)
  const leases = expireLeases(deps)
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    logger.info({ signal }, 'stopping')
    deps.bell.close()
    await Promise.all([listening.stop(), sweeps.stop(), leases.stop()])
    await db.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))

  process.stdout.write(`stoa listening on ${listening.url}\n`)
  if (signInToken)
    process.stdout.write(`sign in as the first admin, once, within an hour: ${listening.url}/#sign-in=${signInToken}\n`)
}

main().catch((error: unknown) => {
  const reason =
    error instanceof SettingError ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.stderr.write(`stoa does not start: ${reason}\n`)
  process.exit(1)
})
