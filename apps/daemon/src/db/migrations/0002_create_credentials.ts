import type { Migration } from '../migrate.js'

/** One table for everything that a caller can show, so that one statement finds the credential, its user and the record. */
export const createCredentials: Migration = {
  name: '0002_create_credentials',
  async up(knex) {
    await knex.schema.createTable('credentials', (table) => {
      table.text('credential_id').primary()
      table.text('kind').notNullable()
      table.text('user_id').notNullable().references('user_id').inTable('users').onDelete('CASCADE')
      table.text('name')
      table.text('secret_hash')
      table.text('task_id').references('task_id').inTable('tasks').onDelete('CASCADE')
      table.text('session_id')
      table.text('expires_at')
      table.text('revoked_at')
      table.integer('version').notNullable().defaultTo(1)
      table.text('created_at').notNullable()
      table.text('created_by')
      table.text('updated_at').notNullable()
      table.index(['user_id', 'kind'])
      table.index(['task_id'])
    })
    await knex.raw(`
      CREATE VIEW api_keys AS
      SELECT credential_id AS api_key_id, user_id, name, expires_at, created_at, created_by, updated_at
      FROM credentials WHERE kind = 'api_key' AND revoked_at IS NULL`)

    await knex.schema.createTable('shared_secrets', (table) => {
      table.text('name').primary()
      table.text('value').notNullable()
    })

    await knex.schema.createTable('sign_in_attempts', (table) => {
      table.text('key').primary()
      table.text('window_start').notNullable()
      table.integer('count').notNullable()
    })
  }
}
