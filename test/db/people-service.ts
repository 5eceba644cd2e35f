import type { Paginated } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import type { Database, Row, Step } from '@stoa/daemon/db/database'
import type { Migration } from '@stoa/daemon/db/migrate'
import { RecordService, pick, type RecordParams } from '@stoa/daemon/db/record-service'
import type { Table } from '@stoa/daemon/db/tables'
import { Sql, deleteWhere, insertWhere, updateWhere } from '@stoa/daemon/db/write'
import { randomUUID } from 'node:crypto'

const table: Table = {
  name: 'people',
  id: 'id',
  columns: ['id', 'name', 'age', 'time', 'created'],
  hidden: ['version'],
  booleans: ['created']
}

/** The daemon's query language and its way to write over a plain table, without rights: what Feathers' suite can ask. */
export class PeopleService extends RecordService {
  static readonly table: Migration = {
    name: '0001_create_people',
    async up(knex) {
      await knex.schema.createTable('people', (columns) => {
        columns.text('id').primary()
        columns.text('name').notNullable()
        columns.integer('age')
        columns.integer('time')
        columns.boolean('created')
        columns.integer('version').notNullable().defaultTo(1)
      })
    }
  }

  constructor(database: Database) {
    super(database, table)
    // The suite sets page sizes where it means pages, and expects a bare list elsewhere.
    this.options.paginate = {}
  }

  declare readonly options: { paginate: { default?: number; max?: number } }

  override async find(params: RecordParams = {}): Promise<Paginated<Row>> {
    const bare = params.paginate === false || (!params.paginate && !this.options.paginate.default)
    const page = await super.find({ ...params, ...seesAll, ...(bare && { paginate: { default: 200, max: 200 } }) })
    return bare ? (page.data as unknown as Paginated<Row>) : page
  }

  findWithoutScope(params: RecordParams): Promise<Paginated<Row>> {
    return super.find({ ...params, paginate: { default: 200, max: 200 } })
  }

  async get(id: string, params: RecordParams = {}): Promise<Row> {
    const adapter = this as unknown as { _get(id: string, params: RecordParams): Promise<Row> }
    return this.present(await adapter._get(id, { ...params, ...seesAll }), params)
  }

  async create(data: Row, params: RecordParams = {}): Promise<Row> {
    return this.write(insertWhere(table, { id: randomUUID(), ...data }, []), params)
  }

  async patch(id: string, data: Row, params: RecordParams = {}): Promise<Row> {
    return this.write(updateWhere(table, data, [new Sql('id = ?', id)]), params)
  }

  async remove(id: string, params: RecordParams = {}): Promise<Row> {
    return this.write(deleteWhere(table, [new Sql('id = ?', id)]), params)
  }

  private async write(step: Step, params: RecordParams): Promise<Row> {
    const rows = await this.database.commit({ steps: [step], entries: [] })
    // The suite reads the name that a Feathers error has; ours become one on their way out.
    if (!rows) throw Object.assign(new StoaError('not_found'), { name: 'NotFound' })
    return pick(this.present(rows[0]!, params), params.query?.['$select'])
  }
}

const seesAll = { scope: { anyOf: [{ see: 'everything' as const }], within: null } }
