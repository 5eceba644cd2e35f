import type { Paginated } from '@feathersjs/feathers'
import { plainText } from '@stoa/core/domain/message-text'
import { snippet } from '@stoa/core/domain/snippet'
import { parseSearch, type SearchTerm } from '@stoa/core/domain/words'
import { StoaError } from '@stoa/core/errors'
import type { Content } from '@stoa/core/schema/messages'
import type { Knex } from 'knex'
import type { Database, Row } from '../database.js'
import { pick, type RecordParams } from '../record-service.js'
import { applyScope } from '../scope.js'
import { MAX_SEQ } from './move-boundary.js'

/** How a list of messages is asked for, and what is made of its page. */
export interface MessageList {
  params: RecordParams
  finish(page: Paginated<Row>): Paginated<Row> | Promise<Paginated<Row>>
}

export function listMessages(db: Database, params: RecordParams): MessageList {
  const { include: _alwaysListed, search, after_seq, before_seq, ...query } = params.query ?? {}
  const range = { after: after_seq as number | undefined, before: before_seq as number | undefined }
  const live = [
    ...(query['$and'] ?? []),
    ...(range.after === undefined ? [] : [{ seq: { $gt: range.after } }]),
    ...(range.before === undefined ? [] : [{ seq: { $lt: range.before } }]),
    { deleted_at: null }
  ]
  const asked = { ...params, query: { ...query, $and: live } }
  return search === undefined ? bySeq(db, asked, query, range) : byWords(db, asked, String(search))
}

interface Range {
  after: number | undefined
  before: number | undefined
}

/** Ascending; `before_seq` takes the page just below it. Across sessions a seq says nothing: there it is by time. */
function bySeq(db: Database, asked: RecordParams, query: Record<string, unknown>, range: Range): MessageList {
  const backwards = range.before !== undefined && range.after === undefined && !query['$sort']
  const { session_id } = query
  const order = typeof session_id === 'string' || 'task_id' in query ? 'seq' : 'message_id'
  const params: RecordParams = { ...asked, query: { $sort: { [order]: backwards ? -1 : 1 }, ...asked.query } }
  const isRange =
    typeof session_id === 'string' && Object.keys(query).every((name) => name === 'session_id' || PAGING.includes(name))
  return {
    params: isRange ? { ...params, countTotal: () => countRange(db, asked, session_id, range) } : params,
    finish: (page) => (backwards ? { ...page, data: page.data.reverse() } : page)
  }
}

const PAGING = ['$limit', '$skip', '$select', '$sort']

/**
 * Numbers are given one by one and never again, so a range has as many messages as numbers, less its tombstones: that takes
 * as long for 100,000 messages as for ten.
 */
async function countRange(db: Database, { scope }: RecordParams, sessionId: string, range: Range): Promise<number> {
  const [low, high] = [range.after ?? 0, Math.min(range.before ?? MAX_SEQ, MAX_SEQ)]
  const removed = db.knex.raw(
    `(SELECT COUNT(*) FROM messages m WHERE m.session_id = sessions.session_id AND m.deleted_at IS NOT NULL
      AND m.seq > ? AND m.seq < ?) AS removed`,
    [Math.min(low, MAX_SEQ), high]
  )
  const query = db.knex('sessions').select('last_seq', removed).where('session_id', sessionId)
  const [row] = (await applyScope(query, 'sessions', scope ?? { anyOf: [], within: null })) as Row[]
  return row ? Math.max(0, Math.min(Number(row['last_seq']), high - 1) - low) - Number(row['removed']) : 0
}

/** Newest first. Each row comes with the text around what was found. */
function byWords(db: Database, asked: RecordParams, search: string): MessageList {
  const terms = parseSearch(search)
  if (terms.length === 0) throw new StoaError('invalid', { errors: [{ field: 'search', message: 'has no word in it' }] })
  const { session_id, $select, $sort } = asked.query ?? {}
  const { from, where, newestFirst } = db.dialect.search(terms, typeof session_id === 'string' ? session_id : null)
  return {
    params: {
      ...asked,
      query: { ...asked.query, $sort: $sort ?? {}, ...($select && { $select: [...$select, 'content'] }) },
      narrow: (list) => {
        list.from(db.knex.raw(from))
        list.whereRaw(where.sql, where.params)
        if (!$sort) list.orderByRaw(newestFirst)
      },
      countTotal: (list) => countSome(db, list)
    },
    finish: async (page) => {
      const data: Row[] = []
      for (const message of page.data) data.push(pick(await withSnippet(message, terms), $select))
      return { ...page, data }
    }
  }
}

/** A page may have 200 large messages: others get their turn between them. */
async function withSnippet(message: Row, terms: SearchTerm[]): Promise<Row> {
  const text = plainText(message['content'] as Content)
  if (text.length > LARGE) await new Promise(setImmediate)
  return { ...message, snippet: snippet(text, terms) }
}

const LARGE = 50_000

/** Enough to know that one has to search for more words; counting every occurrence of a common one would read them all. */
const MOST_COUNTED = 1000

async function countSome(db: Database, list: Knex.QueryBuilder): Promise<number> {
  const found = list.clone().clearSelect().clearOrder().select(db.knex.raw('1 AS one')).limit(MOST_COUNTED).as('found')
  const [row] = (await db.knex.count({ total: '*' }).from(found)) as { total: number | string }[]
  return Number(row!.total)
}
