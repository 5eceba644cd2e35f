import { stopPostgres } from './postgres.js'

// Here and not as a node option: with node options mocha runs the tests in a child that outlives a killed mocha.
process.setSourceMapsEnabled(true)

export const mochaHooks = {
  async afterAll(): Promise<void> {
    await stopPostgres()
  }
}
