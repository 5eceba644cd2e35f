import basicModule from '@feathersjs/adapter-tests/lib/basic.js'
import methodsModule from '@feathersjs/adapter-tests/lib/methods.js'
import syntaxModule from '@feathersjs/adapter-tests/lib/syntax.js'
import type { AdapterTestName } from '@feathersjs/adapter-tests'
import { feathers } from '@feathersjs/feathers'
import type { Database } from '@stoa/daemon/db/database'
import { migrate } from '@stoa/daemon/db/migrate'
import { openPostgres } from '@stoa/daemon/db/postgres/open'
import { openSqlite } from '@stoa/daemon/db/sqlite/open'
import { expect } from 'chai'
import { eachStore } from '../support/stores.js'
import { PeopleService } from './people-service.js'

const EVERY_LIST_HAS_PAGES = 'a list always has pages; what one may ask for is bounded by the service, not by the caller'
const ONE_RECORD = 'a patch or a remove names one record by its id (405 without one)'
const NO_UPDATE = 'there is no update: PUT is 405'
const NOT_A_FILTER = 'the query of a write is no filter: a parent in it is compared with the stored row (parent_mismatch)'
const NEVER_CALLED = 'the adapter’s own writes are never called: they read, write and read again, and lose one of two changes'
const ONLY_SELECTED = '$select gives the selected fields and no other, the id only when it is one of them'

/** The rules of Feathers’ suite for database adapters that are not ours, and why. All others are. */
const notOurs: Partial<Record<AdapterTestName, string>> = {
  '.events': 'no service of ours has events of its own',
  '._create': NEVER_CALLED,
  '._update': NEVER_CALLED,
  '._patch': NEVER_CALLED,
  '._remove': NEVER_CALLED,
  '.remove + id + query': NOT_A_FILTER,
  '.remove + id + query id': NOT_A_FILTER,
  '.patch + id + query': NOT_A_FILTER,
  '.patch + query + NotFound': NOT_A_FILTER,
  '.patch + id + query id': NOT_A_FILTER,
  '.remove + multi': ONE_RECORD,
  '.remove + multi no pagination': ONE_RECORD,
  '.patch multiple': ONE_RECORD,
  '.patch multiple no pagination': ONE_RECORD,
  '.patch multi query same': ONE_RECORD,
  '.patch multi query changed': ONE_RECORD,
  '.create multi': 'a list is taken by messages only, and all of it or nothing is written',
  'params.adapter + multi': 'which methods take a list is said in the service, not in a call',
  'params.adapter + paginate': EVERY_LIST_HAS_PAGES,
  '.update': NO_UPDATE,
  '.update + $select': NO_UPDATE,
  '.update + id + query': NO_UPDATE,
  '.update + NotFound': NO_UPDATE,
  '.update + NotFound (integer)': NO_UPDATE,
  '.update + query + NotFound': NO_UPDATE,
  '.update + id + query id': NO_UPDATE,
  'internal .update': NO_UPDATE,
  '.find + $sort + string': 'text of a query string is read as a number before it gets here, by the schema of the query',
  '.get + $select': ONLY_SELECTED,
  '.find + $select': ONLY_SELECTED,
  '.create + $select': ONLY_SELECTED,
  '.patch + $select': ONLY_SELECTED,
  '.remove + $select': ONLY_SELECTED
}

describe('Feathers’ rules for database adapters', () => {
  eachStore((kind) => {
    const app = feathers()
    let db: Database
    const met = new Set<string>()

    before(async () => {
      const { url } = await kind.make()
      await migrate(url, [PeopleService.table])
      db = kind.name === 'SQLite' ? await openSqlite(url) : await openPostgres(url, () => undefined)
      app.use('people', new PeopleService(db))
    })

    after(() => db.close())

    const ours = (name: AdapterTestName, run: () => Promise<void> | void) => {
      met.add(name)
      if (!notOurs[name]) it(name, run)
    }

    for (const { default: define } of [basicModule, methodsModule, syntaxModule]) define(ours, app, null, 'people', 'id')

    it('every rule that we say is not ours is one of the suite', () => {
      expect(Object.keys(notOurs).filter((name) => !met.has(name))).to.deep.equal([])
    })

    it('$select gives the selected fields and no other', async () => {
      const people = app.service('people') as unknown as PeopleService
      const { id } = await people.create({ name: 'Eve', age: 44 })
      expect(await people.find({ query: { name: 'Eve', $select: ['name'] } })).to.deep.equal([{ name: 'Eve' }])
      await people.remove(String(id))
    })

    it('a list whose reader was not said to see anything is empty, and so is its total', async () => {
      const people = app.service('people') as unknown as PeopleService
      const { id } = await people.create({ name: 'Eve', age: 44 })
      expect(await people.findWithoutScope({})).to.deep.include({ total: 0, data: [] })
      expect(await people.findWithoutScope({ query: { $or: [{ name: 'Eve' }, { age: 44 }] } })).to.deep.include({
        total: 0,
        data: []
      })
      await people.remove(String(id))
    })
  })
})
