import { AuthenticationService, JWTStrategy } from '@feathersjs/authentication'
import { feathers } from '@feathersjs/feathers'
import { KnexService } from '@feathersjs/knex'
import { bodyParser, errorHandler, koa, parseAuthentication, rest } from '@feathersjs/koa'
import { isPostgres } from '@stoa/daemon/db/database-url'
import { migrate } from '@stoa/daemon/db/migrate'
import knex from 'knex'
import { audit, authorizeNaively, signedIn, stampMessage, stampPatch } from './naive-hooks.js'
import { seed } from './seed.js'
import { ANY_PORT, serve } from './serve.js'

// What one has after an afternoon with Feathers, on the tables of the daemon: its knex adapter and its JWT strategy as
// they are. `bare` checks only the token. `obvious` adds the rights and the audit in the obvious way, a service call
// each; like most such code it does both outside a transaction.

const [flavour, url] = process.argv.slice(2)
if ((flavour !== 'bare' && flavour !== 'obvious') || !url) throw new Error('usage: stock.js bare|obvious DATABASE')

await migrate(url)
const database = knex(
  isPostgres(url)
    ? { client: 'pg', connection: { connectionString: url }, pool: { min: 0, max: 16 } }
    : { client: 'sqlite3', connection: { filename: url }, useNullAsDefault: true }
)
const records = await seed(database)

const app = koa(feathers())
app.use(errorHandler())
app.use(parseAuthentication())
app.use(bodyParser())
app.configure(rest())
app.set('authentication', {
  secret: 'a secret that is as long as a generated one would be',
  entity: 'user',
  entityId: 'user_id',
  service: 'users',
  authStrategies: ['jwt'],
  jwtOptions: { audience: 'https://example.com', algorithm: 'HS256', expiresIn: '1d' }
})

const tables = {
  users: 'user_id',
  worktrees: 'worktree_id',
  grants: 'grant_id',
  sessions: 'session_id',
  tasks: 'task_id',
  messages: 'message_id',
  journal: 'id'
}
for (const [name, id] of Object.entries(tables)) app.use(name, new KnexService({ Model: database, name, id }))

const authentication = new AuthenticationService(app)
authentication.register('jwt', new JWTStrategy())
app.use('authentication', authentication)

const rights = flavour === 'obvious' ? [audit, authorizeNaively] : []
app.service('tasks').hooks({ around: { all: [signedIn, ...rights] }, before: { patch: [stampPatch] } })
app.service('messages').hooks({ around: { all: [signedIn, ...rights] }, before: { create: [stampMessage] } })

const tokenOf = (subject: string) => authentication.createAccessToken({}, { subject })
const { owner, stranger, sessions, tasks } = records
await serve(await app.listen(ANY_PORT as never), {
  token: await tokenOf(owner),
  stranger: await tokenOf(stranger),
  sessions,
  tasks
})
