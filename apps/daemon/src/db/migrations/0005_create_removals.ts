import type { Migration } from '../migrate.js'

/** One row for each truncation that can still be undone; undoing takes it away. */
export const createRemovals: Migration = {
  name: '0005_create_removals',
  async up(knex) {
    await knex.schema.createTable('removals', (table) => {
      table.text('removal_id').primary()
      table.text('session_id').notNullable().references('session_id').inTable('sessions').onDelete('CASCADE')
      table.text('created_at').notNullable()
      table.text('created_by')
      table.text('expires_at').notNullable()
      table.index(['session_id'])
    })
  }
}
