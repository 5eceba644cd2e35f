import { KnexService, type KnexAdapterOptions, type KnexAdapterParams } from '@feathersjs/knex'
import type { Paginated } from '@feathersjs/feathers'
import { PAGE } from '@stoa/core/schema/service-schema'
import type { Scope } from '@stoa/core/policy/scope'
import type { Knex } from 'knex'
import type { Database, Row } from './database.js'
import { mapDriverError } from './errors.js'
import { applyScope } from './scope.js'
import { decodeRow, publicRecord, type Table } from './tables.js'

export interface RecordParams extends KnexAdapterParams {
  /** What the reader of a list may see. A list without one sees nothing. */
  scope?: Scope
  /** A condition beside the query language, such as a search. */
  narrow?: (list: Knex.QueryBuilder) => void
  /** Counts what a list has in all, where that can be known without reading each row. */
  countTotal?: (list: Knex.QueryBuilder) => Promise<number>
}

/** KnexService without its write methods and its overloads: the part that our services build on. */
const QueryLanguage = KnexService as unknown as new (options: KnexAdapterOptions) => QueryLanguage

interface QueryLanguage {
  readonly Model: Knex
  filterQuery(params: RecordParams): { filters: { $limit: number; $skip: number } }
  createQuery(params?: RecordParams): Knex.QueryBuilder
}

/**
 * Feathers' query language over one of our tables. Lists go through `KnexService`; writes never do: its patch reads,
 * writes and reads again, which loses one of two concurrent changes. Services write with guarded units instead.
 */
export class RecordService extends QueryLanguage {
  constructor(
    protected readonly database: Database,
    readonly table: Table
  ) {
    super({ Model: database.knex, name: table.name, id: table.id, paginate: PAGE })
  }

  async find(params?: RecordParams): Promise<Paginated<Row>> {
    return this.findPage(params ?? {})
  }

  protected async findPage(params: RecordParams): Promise<Paginated<Row>> {
    try {
      const query: RecordParams['query'] = { $sort: { [this.table.id]: 1 }, ...params.query }
      const { $limit: limit, $skip: skip } = this.filterQuery({ ...params, query }).filters
      const list = this.createQuery({ ...params, query })
      const total = await (params.countTotal?.(list) ?? this.countRows({ ...params, query }))
      const rows: Row[] = limit === 0 ? [] : await list.clone().limit(limit).offset(skip)
      return { total, limit, skip, data: rows.map((row) => this.present(decodeRow(this.table, row), params)) }
    } catch (error) {
      throw mapDriverError(error)
    }
  }

  private async countRows(params: RecordParams): Promise<number> {
    const list = this.scoped(params, true)
    const [row] = (await list.clearSelect().clearOrder().count({ total: '*' })) as { total: number | string }[]
    return Number(row!.total)
  }

  /** A record as its reader sees it. Services whose answer depends on the reader override this. */
  protected present(record: Row, params: RecordParams): Row {
    return pick(publicRecord(this.table, record), params.query?.['$select'])
  }

  override createQuery(params: RecordParams = {}): Knex.QueryBuilder {
    return this.scoped(params, false)
  }

  private scoped(params: RecordParams, counted: boolean): Knex.QueryBuilder {
    const { $select, ...query } = params.query ?? {}
    const builder = super.createQuery({ ...params, query: { ...query, $select: this.columnsFor($select) } })
    for (const [field, sql] of Object.entries(this.table.computed ?? {})) {
      if (!$select || $select.includes(field)) builder.select(this.Model.raw(`(${sql}) AS ${field}`))
    }
    params.narrow?.(builder)
    return applyScope(builder, this.table.name, params.scope ?? { anyOf: [], within: null }, { query, counted })
  }

  private columnsFor(select: string[] | undefined): string[] {
    const composed = this.table.composed ?? {}
    if (!select) return [...this.table.columns, ...Object.values(composed).flatMap(({ from }) => from)]
    return select.flatMap((field) => (this.table.columns.includes(field) ? [field] : (composed[field]?.from ?? [])))
  }
}

export function pick(record: Row, select: string[] | undefined): Row {
  return select ? Object.fromEntries(Object.entries(record).filter(([field]) => select.includes(field))) : record
}
