import { expect } from 'chai'
import { migrate } from '@stoa/daemon/db/migrate'
import { migrations } from '@stoa/daemon/db/migrations/index'
import type { Knex } from 'knex'
import { client, rowsOf } from '../support/client.js'
import { ADMIN } from '../support/daemon.js'
import { absentId } from '../support/doors.js'
import { eachStore, rows, type Store, type StoreKind } from '../support/stores.js'
import { made, text } from '../support/world.js'

const OLD_TABLES = ['worktrees', 'sessions', 'tasks', 'messages', 'past_revisions', 'message_revisions']
const AT = '2026-01-02T03:04:05.678Z'
const PLAIN = 430

describe('a database with rows from before messages had a preview, an estimate and words', function () {
  this.timeout(180_000)

  eachStore((kind) => {
    it('keeps every row and revision byte for byte, and every reference', async () => {
      const { store, connection } = await oldDatabase(kind)
      const before = await everyRow(connection)
      const references = await referencesIn(kind, connection)
      await connection.destroy()
      expect(await migrate(store.url)).to.deep.equal(migrations.slice(3).map(({ name }) => name))
      const now = store.connect()
      expect(onlyOld(await everyRow(now), before)).to.deep.equal(before)
      expect(await referencesIn(kind, now)).to.deep.equal(references)
      if (kind.name === 'SQLite') {
        expect(await rows(now, 'PRAGMA foreign_key_check')).to.deep.equal([])
        expect(await rows(now, 'PRAGMA integrity_check')).to.deep.equal([{ integrity_check: 'ok' }])
        await now.raw('PRAGMA foreign_keys = ON')
      }
      for (const twin of ['seq', 'client_message_id'])
        expect(
          await now('messages')
            .insert(twinOf(before['messages']!, twin))
            .catch(() => 'refused'),
          twin
        ).to.equal('refused')
      await now('sessions').where({ session_id: before['sessions']![0]!['session_id'] }).delete()
      expect(await rows(now, 'SELECT message_id FROM messages UNION ALL SELECT message_id FROM past_revisions')).to.deep.equal([])
    })

    it('has the preview, the estimate and the words of each afterwards, and goes on where it was', async () => {
      const { store, connection, session_id } = await oldDatabase(kind)
      await connection.destroy()
      const { url } = await store.start()
      const token = text(await made(client(url).post('/authentication', { strategy: 'local', ...ADMIN })), 'accessToken')
      const rest = client(url, token)
      const find = async (search: string) =>
        (await made(rest.get(`/messages?session_id=${session_id}&search=${search}`)))['total']

      expect(await find('tea')).to.equal(PLAIN)
      expect([await find('tea429'), await find('removedword'), await find('firstword')]).to.deep.equal([1, 0, 0])
      expect([await find(encodeURIComponent('漢字')), await find('blocktext'), await find('largest')]).to.deep.equal([1, 1, 1])
      const page = rowsOf(await rest.get(`/messages?session_id=${session_id}&after_seq=0&$limit=2`))
      expect(page.map(({ preview, boundary_seq }) => [preview, boundary_seq])).to.deep.equal([
        ['Some tea0, please: tea', null],
        ['Some tea1, please: tea', null]
      ])
      const [largest] = rowsOf(await rest.get(`/messages?session_id=${session_id}&search=largest`))
      expect(largest!['preview']).to.equal(`largest ${'many words '.repeat(30)}`.slice(0, 200).trimEnd())
      expect(largest!['tokens_estimated']).to.be.above(10_000)

      const live = await allOf(rest, session_id)
      const session = await made(rest.get(`/sessions/${session_id}`))
      const tokens = live.reduce((sum, row) => sum + Number(row['tokens_estimated']), 0)
      expect([session['message_count'], session['tokens_estimated'], session['boundary_seq']]).to.deep.equal([
        live.length,
        tokens,
        0
      ])
      expect(live.every((row) => Number(row['tokens_estimated']) > 0)).to.equal(true)
      const next = await made(rest.post('/messages', { session_id, role: 'user', content: 'more tea' }))
      expect([next['seq'], await find('tea')]).to.deep.equal([Number(session['last_seq']) + 1, PLAIN + 1])
    })
  })
})

/** One session in which everything was once done to messages that could be, without the migrations of which this is about. */
async function oldDatabase({ make }: StoreKind): Promise<{ store: Store; connection: Knex; session_id: string }> {
  const store = await make()
  await migrate(store.url, migrations.slice(0, 3))
  const connection = store.connect()
  const [worktree_id, session_id, task_id] = [absentId(), absentId(), absentId()]
  const stamps = { created_at: AT, created_by: absentId(), updated_at: AT }
  const contents = [
    ...Array.from({ length: PLAIN }, (_, index) => JSON.stringify(`Some  tea${index},\n please: tea`)),
    // Spaces and escapes that JSON.stringify would not write: what is stored is not to be written anew.
    ' [ {"type":"text","text":"blockt\\u0065xt"}, {"type":"unknown","x":[1.0,1e2]} ] ',
    '"half of a pair: \\ud800"',
    '"\\u6f22字 and 🙂"',
    'null',
    '""',
    '[]',
    JSON.stringify(`largest ${'many words '.repeat(30_000)}`)
  ]
  // In another order than their ids have.
  const messages = contents
    .map((content, index) => ({ ...stamps, message_id: absentId(), session_id, content, index }))
    .map(({ index, ...message }) => ({
      ...message,
      seq: index + 1,
      role: index % 2 ? 'assistant' : 'user',
      task_id: index % 3 ? null : task_id,
      metadata: index % 5 ? null : '{ "a" : 1 }',
      client_message_id: index % 7 ? null : `client ${index}`,
      revision: index === 4 ? 3 : 1,
      version: index === 4 ? 3 : 1,
      edited_at: index === 4 ? AT : null,
      edited_by: index === 4 ? stamps.created_by : null
    }))
    .reverse()
  const removed = { ...stamps, message_id: absentId(), session_id, content: '"removedword"', seq: contents.length + 1 }
  const { message_id } = messages.find(({ seq }) => seq === 5)!

  await connection('worktrees').insert({ ...stamps, worktree_id, name: 'old', others_can: 'prompt' })
  await connection('sessions').insert({
    ...stamps,
    session_id,
    worktree_id,
    title: 'old',
    settings: '{ "b":1, "a":2 }',
    message_count: contents.length,
    last_seq: contents.length + 1,
    version: 7
  })
  await connection('tasks').insert({ ...stamps, task_id, session_id, prompt: 'do it', status: 'queued' })
  for (let from = 0; from < messages.length; from += 40) await connection('messages').insert(messages.slice(from, from + 40))
  await connection('messages').insert({ ...removed, role: 'user', deleted_at: AT, version: 2 })
  for (const revision of [1, 2])
    await connection('past_revisions').insert({ message_id, revision, content: ` "firstword ${revision}"`, created_at: AT })
  return { store, connection, session_id }
}

type Rows = Record<string, unknown>[]

async function everyRow(connection: Knex): Promise<Record<string, Rows>> {
  const all: Record<string, Rows> = {}
  for (const table of OLD_TABLES) {
    const key = table.includes('revisions') ? 'message_id, revision' : `${table.slice(0, -1)}_id`
    all[table] = (await rows(connection, `SELECT * FROM ${table} ORDER BY ${key}`)).map((row) => ({ ...row }))
  }
  return all
}

/** The columns that there were. */
function onlyOld(now: Record<string, Rows>, before: Record<string, Rows>): Record<string, Rows> {
  return Object.fromEntries(
    Object.entries(now).map(([table, found]) => {
      const columns = Object.keys(before[table]![0]!)
      return [table, found.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])))]
    })
  )
}

/** Which column refers to which, and what becomes of it when that goes. */
async function referencesIn({ name }: StoreKind, connection: Knex): Promise<unknown[]> {
  if (name === 'PostgreSQL')
    return rows(
      connection,
      `SELECT conrelid::regclass::text AS table_name, pg_get_constraintdef(oid) AS definition, convalidated FROM pg_constraint
       WHERE contype = 'f' AND conrelid::regclass::text IN ('messages', 'past_revisions', 'tasks', 'sessions') ORDER BY 1, 2`
    )
  const all: unknown[] = []
  for (const table of ['messages', 'past_revisions', 'tasks', 'sessions']) {
    const found = await rows(
      connection,
      `SELECT "table", "from", "to", on_delete FROM pragma_foreign_key_list('${table}') ORDER BY 2`
    )
    all.push([table, found.map((row) => ({ ...row }))])
  }
  return all
}

function twinOf(messages: Rows, field: string): Record<string, unknown> {
  const { message_id: _id, seq, client_message_id, ...message } = messages.find((row) => row['client_message_id'] !== null)!
  return { ...message, message_id: absentId(), seq: 1_000_000, ...(field === 'seq' ? { seq } : { client_message_id }) }
}

async function allOf(rest: ReturnType<typeof client>, session_id: string): Promise<Rows> {
  const all: Rows = []
  for (let after = 0; ; after = Number(all.at(-1)!['seq'])) {
    const page = rowsOf(
      await rest.get(`/messages?session_id=${session_id}&after_seq=${after}&$limit=200&$select[]=seq&$select[]=tokens_estimated`)
    )
    all.push(...page)
    if (page.length < 200) return all
  }
}
