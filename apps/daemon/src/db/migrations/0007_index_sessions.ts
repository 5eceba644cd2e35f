import type { Migration } from '../migrate.js'

/** The list that people look at: what changed last is on top. Appending a message does not change it. */
export const indexSessions: Migration = {
  name: '0007_index_sessions',
  async up(knex) {
    await knex.raw('CREATE INDEX sessions_updated ON sessions (updated_at)')
  }
}
