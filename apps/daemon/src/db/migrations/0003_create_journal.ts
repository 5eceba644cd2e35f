import type { Migration } from '../migrate.js'

export const createJournal: Migration = {
  name: '0003_create_journal',
  async up(knex) {
    await knex.schema.createTable('journal', (table) => {
      table.bigIncrements('seq')
      table.text('id').notNullable().unique()
      table.text('ts').notNullable()
      table.text('kind').notNullable()
      table.text('decision').notNullable()
      table.text('reason_code').notNullable()
      table.text('reason').notNullable()
      table.text('actor_id')
      table.text('actor')
      table.text('credential')
      table.text('action').notNullable()
      table.text('service').notNullable()
      table.text('method').notNullable()
      table.text('transport').notNullable()
      table.text('resource_type').notNullable()
      table.text('resource_id')
      table.text('worktree_id')
      table.text('session_id')
      table.text('claimed')
      table.text('actual')
      table.boolean('spoofed').notNullable()
      table.text('basis')
      table.text('trace').notNullable()
      table.text('effect')
      table.integer('version')
      table.text('request').notNullable()
    })
    // Every request writes a row, so indexes are few and partial: people look for one actor, one worktree, one record,
    // or for refusals; the rest filters inside those.
    await knex.raw('CREATE INDEX journal_actor ON journal (actor_id, seq)')
    await knex.raw('CREATE INDEX journal_worktree ON journal (worktree_id, seq) WHERE worktree_id IS NOT NULL')
    await knex.raw('CREATE INDEX journal_resource ON journal (resource_id, seq) WHERE resource_id IS NOT NULL')
    await knex.raw(`CREATE INDEX journal_denied ON journal (reason_code, seq) WHERE decision = 'deny'`)
  }
}
