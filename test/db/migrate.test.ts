import { expect } from 'chai'
import { migrate, type Migration } from '@stoa/daemon/db/migrate'
import { migrations } from '@stoa/daemon/db/migrations/index'
import { client } from '../support/client.js'
import { ADMIN, WITH_ADMIN } from '../support/daemon.js'
import { refusedStart } from '../support/daemon-process.js'
import { eachStore, rows, type Store, type StoreKind } from '../support/stores.js'
import { made, text } from '../support/world.js'

const ROUNDS: Record<StoreKind['name'], number> = { SQLite: 10, PostgreSQL: 5 }
const COLUMNS = `SELECT table_name, column_name, data_type, is_nullable, column_default
  FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position`
const names = migrations.map(({ name }) => name)

describe('the schema of a database', function () {
  this.timeout(180_000)

  it('the migrations are named NNNN_verb_object, numbered without a gap, in the order of their list', () => {
    expect(names.map((name) => /^(\d{4})_[a-z]+(_[a-z]+)+$/.exec(name)?.[1])).to.deep.equal(
      names.map((_, index) => String(index + 1).padStart(4, '0'))
    )
  })

  eachStore((kind) => {
    it('every migration is applied once, in order; the second time there is nothing to do and nothing changes', async () => {
      const store = await kind.make()
      expect(await migrate(store.url)).to.deep.equal(names)
      const schema = await schemaOf(kind, store)
      expect(await migrate(store.url)).to.deep.equal([])
      expect(await schemaOf(kind, store)).to.deep.equal(schema)
      expect(
        (await rows(store.connect(), 'SELECT name FROM stoa_migrations ORDER BY name')).map(({ name }) => name)
      ).to.deep.equal(names)
    })

    it('a database that lacks the last migration is given that one alone', async () => {
      const store = await kind.make()
      expect(await migrate(store.url, migrations.slice(0, -1))).to.deep.equal(names.slice(0, -1))
      expect(await migrate(store.url)).to.deep.equal(names.slice(-1))
    })

    it('a migration that fails takes everything of its run back', async () => {
      const store = await kind.make()
      const failing: Migration = {
        name: '9999_break_things',
        async up(knex) {
          await knex.schema.createTable('half_done', (table) => table.text('id'))
          throw new Error('it went wrong')
        }
      }
      const failure = await migrate(store.url, [...migrations, failing]).catch((error: unknown) => error as Error)
      expect(failure).to.be.an('error').with.property('message', 'it went wrong')
      expect(await schemaOf(kind, store)).to.deep.equal([])
      expect(await migrate(store.url)).to.deep.equal(names)
    })

    it('a database that is newer than the code is left alone: the daemon does not start and says why', async () => {
      const store = await kind.make()
      await migrate(store.url)
      const connection = store.connect()
      await connection('stoa_migrations').insert({ name: '9999_add_the_future', applied_at: new Date().toISOString() })
      const schema = await schemaOf(kind, store)
      const settings = { STOA_HOME: store.home, ...WITH_ADMIN }
      const { code, stderr } = await refusedStart({
        ...settings,
        ...(kind.name === 'PostgreSQL' && { STOA_DATABASE_URL: store.url })
      })
      expect(code).to.equal(1)
      expect(stderr).to.match(/the database is newer than this daemon \(it has 9999_add_the_future\): start the newer version/)
      expect(await schemaOf(kind, store)).to.deep.equal(schema)
      expect(await rows(connection, 'SELECT user_id FROM users')).to.deep.equal([])
    })

    it(`two daemons that start at once on an empty database both come up, there is one admin, and both know them (${ROUNDS[kind.name]} times)`, async () => {
      for (let round = 1; round <= ROUNDS[kind.name]; round += 1) {
        const store = await kind.make()
        const daemons = await Promise.all([store.start(), store.start()])
        const connection = store.connect()
        expect(await rows(connection, 'SELECT email, role FROM users')).to.deep.equal([{ email: ADMIN.email, role: 'admin' }])
        expect(await rows(connection, `SELECT action, kind FROM journal`)).to.deep.equal([
          { action: 'users.create', kind: 'system' }
        ])
        const [one, two] = daemons.map(({ url }) => url)
        const signedIn = await made(client(one!).post('/authentication', { strategy: 'local', ...ADMIN }))
        expect((await client(two!, text(signedIn, 'accessToken')).get('/users')).body['total']).to.equal(1)
        await connection.destroy()
        for (const daemon of daemons) await daemon.stop()
      }
    })
  })
})

/** Every table, view, index and column, as the database itself describes them. */
async function schemaOf({ name }: StoreKind, store: Store): Promise<unknown[]> {
  const connection = store.connect()
  try {
    return name === 'SQLite'
      ? await rows(connection, `SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`)
      : [
          ...(await rows(connection, COLUMNS)),
          ...(await rows(connection, `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`))
        ]
  } finally {
    await connection.destroy()
  }
}
