import type { Migration } from '../migrate.js'

/** What the session said when the task was made. */
export const freezeTaskConfig: Migration = {
  name: '0006_freeze_task_config',
  async up(knex) {
    await knex.schema.alterTable('tasks', (table) => {
      table.text('config')
    })
  }
}
