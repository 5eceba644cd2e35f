import { ACTIVE_STATUSES } from '@stoa/core/domain/task-state'
import type { Migration } from '../migrate.js'

/** Who runs what, and until when. That a session has one active task at most is the database's to see to. */
export const createLeases: Migration = {
  name: '0008_create_leases',
  async up(knex) {
    await knex.schema.createTable('executors', (table) => {
      table.text('executor_id').primary()
      table.text('user_id').notNullable().references('user_id').inTable('users').onDelete('CASCADE')
      table.text('name').notNullable()
      table.text('host').notNullable()
      table.integer('pid').notNullable()
      table.text('agents').notNullable()
      table.text('version').notNullable()
      table.text('created_at').notNullable()
      table.text('seen_at').notNullable()
      table.unique(['user_id', 'name', 'host', 'pid'])
    })

    await knex.schema.createTable('leases', (table) => {
      table.text('lease_id').primary()
      table.text('task_id').notNullable().references('task_id').inTable('tasks').onDelete('CASCADE')
      table.text('executor_id').notNullable()
      table.text('user_id').notNullable()
      table.text('credential_id').notNullable()
      table.integer('attempt').notNullable()
      table.text('progress')
      table.text('created_at').notNullable()
      table.text('renewed_at').notNullable()
      table.text('expires_at').notNullable()
      table.text('ended_at')
      table.index(['task_id'])
    })
    await knex.raw('CREATE INDEX leases_open ON leases (expires_at) WHERE ended_at IS NULL')

    await knex.schema.alterTable('tasks', (table) => {
      table.text('lease_id')
    })
    const active = ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ')
    const now = new Date().toISOString()
    await knex.raw(
      `UPDATE tasks SET status = 'stopped', because = 'a session runs one task at a time', completed_at = ?, updated_at = ?,
        version = version + 1
      WHERE status IN (${active}) AND EXISTS (
        SELECT 1 FROM tasks o WHERE o.session_id = tasks.session_id AND o.status IN (${active}) AND o.task_id < tasks.task_id)`,
      [now, now]
    )
    await knex.raw(`CREATE UNIQUE INDEX tasks_one_active ON tasks (session_id) WHERE status IN (${active})`)
    await knex.raw(`CREATE INDEX tasks_queued ON tasks (task_id) WHERE status = 'queued'`)

    await knex.schema.alterTable('credentials', (table) => {
      table.text('scope')
    })
    await knex.raw('DROP VIEW api_keys')
    await knex.raw(`
      CREATE VIEW api_keys AS
      SELECT credential_id AS api_key_id, user_id, name, scope, expires_at, created_at, created_by, updated_at
      FROM credentials WHERE kind = 'api_key' AND revoked_at IS NULL`)
  }
}
