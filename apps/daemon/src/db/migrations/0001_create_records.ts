import type { Knex } from 'knex'
import type { Migration } from '../migrate.js'

/** Times are ISO text and JSON is text on both databases: they compare and come back the same, byte for byte. */
export const createRecords: Migration = {
  name: '0001_create_records',
  async up(knex) {
    await knex.schema.createTable('users', (table) => {
      table.text('user_id').primary()
      table.text('email').notNullable().unique()
      table.text('name').notNullable()
      table.text('role').notNullable()
      table.boolean('active').notNullable().defaultTo(true)
      table.text('password_hash').notNullable()
      table.boolean('password_generated').notNullable().defaultTo(false)
      table.integer('access_version').notNullable().defaultTo(1)
      stamps(table)
    })

    await knex.schema.createTable('worktrees', (table) => {
      table.text('worktree_id').primary()
      table.text('name').notNullable()
      table.text('repo_path')
      table.text('path')
      table.text('ref')
      table.text('base_sha')
      table.text('others_can').notNullable()
      table.text('archived_at')
      table.integer('access_version').notNullable().defaultTo(1)
      stamps(table)
    })

    await knex.schema.createTable('grants', (table) => {
      table.text('grant_id').primary()
      table.text('worktree_id').notNullable().references('worktree_id').inTable('worktrees').onDelete('CASCADE')
      table.text('user_id').notNullable().references('user_id').inTable('users')
      table.text('level').notNullable()
      table.text('granted_by')
      table.text('reason')
      stamps(table)
      table.unique(['worktree_id', 'user_id'])
      table.index(['user_id', 'worktree_id'])
    })

    await knex.schema.createTable('sessions', (table) => {
      table.text('session_id').primary()
      table.text('worktree_id').notNullable().references('worktree_id').inTable('worktrees').onDelete('CASCADE')
      table.text('title')
      table.text('agent')
      table.text('model')
      table.text('settings').notNullable().defaultTo('{}')
      table.text('tools')
      table.integer('message_count').notNullable().defaultTo(0)
      table.integer('last_seq').notNullable().defaultTo(0)
      table.text('parent_session_id').references('session_id').inTable('sessions').onDelete('SET NULL')
      table.text('forked_from')
      table.text('archived_at')
      table.boolean('pinned').notNullable().defaultTo(false)
      stamps(table)
      table.index(['worktree_id', 'session_id'])
      table.index(['parent_session_id'])
    })

    await knex.schema.createTable('tasks', (table) => {
      table.text('task_id').primary()
      table.text('session_id').notNullable().references('session_id').inTable('sessions').onDelete('CASCADE')
      table.text('client_task_id')
      table.text('prompt').notNullable()
      table.text('agent')
      table.text('requested_model')
      table.text('effective_model')
      table.text('observed_model')
      table.text('status').notNullable()
      table.integer('attempt').notNullable().defaultTo(0)
      table.text('executor_id')
      table.text('git_state')
      table.text('usage')
      table.integer('exit_code')
      table.text('error')
      table.text('because')
      table.text('started_at')
      table.text('completed_at')
      stamps(table)
      table.unique(['session_id', 'client_task_id'])
      table.index(['session_id', 'status', 'task_id'])
    })

    await knex.schema.createTable('messages', (table) => {
      table.text('message_id').primary()
      table.text('session_id').notNullable().references('session_id').inTable('sessions').onDelete('CASCADE')
      table.text('task_id').references('task_id').inTable('tasks').onDelete('SET NULL')
      table.integer('seq').notNullable()
      table.text('role').notNullable()
      table.text('content').notNullable()
      table.text('metadata')
      table.text('client_message_id')
      table.integer('revision').notNullable().defaultTo(1)
      table.text('edited_at')
      table.text('edited_by')
      table.text('deleted_at')
      stamps(table)
      table.unique(['session_id', 'seq'])
      table.unique(['session_id', 'client_message_id'])
      table.index(['task_id'])
    })

    await knex.schema.createTable('past_revisions', (table) => {
      table.text('message_id').notNullable().references('message_id').inTable('messages').onDelete('CASCADE')
      table.integer('revision').notNullable()
      table.text('content').notNullable()
      table.text('created_at').notNullable()
      table.text('created_by')
      table.primary(['message_id', 'revision'])
    })
    await knex.raw(`
      CREATE VIEW message_revisions AS
      SELECT message_id, revision, content, created_at, created_by FROM past_revisions
      UNION ALL
      SELECT message_id, revision, content, COALESCE(edited_at, created_at), COALESCE(edited_by, created_by) FROM messages`)
  }
}

function stamps(table: Knex.CreateTableBuilder): void {
  table.integer('version').notNullable().defaultTo(1)
  table.text('created_at').notNullable()
  table.text('created_by')
  table.text('updated_at').notNullable()
}
