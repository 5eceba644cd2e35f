import { postgresUrl, stopPostgres } from './postgres.js'

// Here and not as a node option: with node options mocha runs the tests in a child that outlives a killed mocha.
process.setSourceMapsEnabled(true)

/** In the process that hands the files out: one server for all who run them. */
export async function mochaGlobalSetup(): Promise<void> {
  process.env['STOA_TEST_DATABASE_URL'] = await postgresUrl()
}

export async function mochaGlobalTeardown(): Promise<void> {
  await stopPostgres()
}
