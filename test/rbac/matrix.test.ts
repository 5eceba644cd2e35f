import { expect } from 'chai'
import { client, codeOf, rowsOf, type Answer, type Body, type Door } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, inParallel, made, text, type JournalRow, type Level, type OthersCan, type Person, type Role, type World } from '../support/world.js'
import { expected, expectedList, type Expectation, type Question } from '../policy/oracle.js'

const IN_FLIGHT = 16
const SERVICES = ['worktrees', 'grants', 'sessions', 'tasks', 'messages', 'journal', 'users', 'api-keys', 'authentication'] as const

describe('the table of rights, through every door', () => {
  eachDatabase((database) => {
    let scene: Scene

    before(async function () {
      this.timeout(120_000)
      const daemon = await database.start()
      scene = await setTheScene(await buildWorld(daemon.url))
    })

    it('J4: what anyone may read is answered to every credential and to none, and leaves no journal row', async () => {
      const mark = await scene.world.journalEnd()
      for (const { token } of anywhere(scene)) {
        for (const path of ['/livez', '/readyz', '/health', '/metrics', '/openapi.json']) {
          expect((await client(scene.world.url, token).get(path)).status, path).to.equal(200)
        }
      }
      expect(await scene.world.journalSince(mark)).to.deep.equal([])
    })

    for (const transport of ['rest', 'socketio'] as const) {
      describe(transport === 'rest' ? 'over REST' : 'over a socket', () => {
        let doors: Doors

        before(() => {
          doors = openDoors(scene.world.url, transport)
        })

        after(() => doors.close())

        for (const service of SERVICES) {
          it(`J4: ${service}: every level, role, session and credential gets the status, the code and the one journal row of the table`, async function () {
            this.timeout(180_000)
            await run(scene, doors, await cellsOf[service](scene))
          })
        }
      })
    }
  })
})

/** One place per level and per way to have it: by a grant, or by `others_can`. */
const STANDINGS: { grant: Level | null; others_can: OthersCan }[] = [
  { grant: null, others_can: 'none' },
  ...(['view', 'session', 'prompt', 'all', 'owner'] as const).map((grant) => ({ grant, others_can: 'none' as const })),
  ...(['view', 'session', 'prompt', 'all'] as const).map((others_can) => ({ grant: null, others_can })),
  // A grant that is lower than what everybody has.
  { grant: 'view', others_can: 'all' }
]
const ROLES = ['viewer', 'member', 'admin'] as const

interface Actor extends Person {
  role: Role
  key: { api_key_id: string; secret: string }
}

/** A session with what is in it, and per role a token of its task. */
interface Spot {
  session_id: string
  task_id: string
  other_task_id: string
  message_id: string
  tokens: Partial<Record<Role, string>>
}

interface Place {
  grant: Level | null
  others_can: OthersCan
  worktree_id: string
  grants: Partial<Record<Role, string>>
  bystanders_grant: string
  foreign: Spot
  own: Record<Role, Spot>
  journal_id: string
}

interface Scene {
  world: World
  keeper: Person
  keepersKey: { api_key_id: string }
  bystander: Person
  stranger: Person
  actors: Record<Role, Actor>
  places: Place[]
}

/** Everybody is a member with `prompt` first, so that all have sessions and tokens of their own; then each gets their place. */
async function setTheScene(world: World): Promise<Scene> {
  const person = (name: string) => world.user(name)
  const [keeper, bystander, stranger] = [await person('keeper'), await person('bystander'), await person('stranger')]
  const people = { viewer: await person('vera'), member: await person('mary'), admin: await person('ada') }

  const spot = async (author: Person, worktree_id: string, roles: readonly Role[]): Promise<Spot> => {
    const session_id = await world.session(author, worktree_id)
    const [task_id, other_task_id] = [await world.task(author, session_id), await world.task(author, session_id)]
    const tokens: Spot['tokens'] = {}
    for (const role of roles) tokens[role] = await world.taskToken(people[role], task_id)
    return { session_id, task_id, other_task_id, message_id: await world.message(author, session_id), tokens }
  }

  const places: Place[] = []
  for (const { grant, others_can } of STANDINGS) {
    const worktree_id = await world.worktree(keeper, 'prompt')
    const bystanders_grant = await world.grant(keeper, worktree_id, bystander, 'view')
    const own: Partial<Record<Role, Spot>> = {}
    for (const role of ROLES) own[role] = await spot(people[role], worktree_id, [role])
    const foreign = await spot(keeper, worktree_id, ROLES)
    const grants: Place['grants'] = {}
    for (const role of grant ? ROLES : []) grants[role] = await world.grant(keeper, worktree_id, people[role], grant!)
    await made(keeper.rest.patch(`/worktrees/${worktree_id}`, { others_can }))
    const [entry] = rowsOf(await world.root.rest.get(`/journal?worktree_id=${worktree_id}&$limit=1`))
    places.push({ grant, others_can, worktree_id, grants, bystanders_grant, foreign, own: own as Place['own'], journal_id: text(entry!, 'id') })
  }

  const actor = async (role: Role): Promise<Actor> => {
    await made(world.root.rest.patch(`/users/${people[role].user_id}`, { role }))
    return { ...(await world.signInAgain(people[role])), role, key: await world.apiKey(people[role]) }
  }
  const actors = { viewer: await actor('viewer'), member: await actor('member'), admin: await actor('admin') }
  return { world, keeper, keepersKey: await world.apiKey(keeper), bystander, stranger, actors, places }
}

interface Credential {
  actor: Actor
  credential: Question['credential']
  token: string | undefined
  reach: Question['reach']
}

type Call = [path: string, method: string, ...args: unknown[]]

/** One call of one caller, and what has to come of it. */
interface Cell extends Expectation {
  credential: Credential
  action: string
  call: Call
  /** The record that the call names, where it names one. */
  record?: string
  /** Makes a record of its own for a call that is allowed and uses it up; the call, and its record. */
  fresh?: () => Promise<{ call: Call; record?: string }>
  /** For lists: what must, or must not, be in the answer. */
  list?: { sees: boolean; id: string }
  /** The patch writes what was there before, so it may or may not count as a change. */
  same?: boolean
}

/** The question to the oracle without what the credential says. */
type About = Pick<Question, 'action'> & Partial<Pick<Question, 'own' | 'fields' | 'reason'>>

function question(about: About, { actor, credential, reach }: Credential, place?: Place): Question {
  const { grant, others_can } = place ?? { grant: null, others_can: 'none' }
  return { own: false, fields: [], reason: false, ...about, role: actor.role, credential, reach, grant, others_can }
}

type Rest = Omit<Cell, keyof Expectation | 'credential' | 'action' | 'list'>

function cell(about: About, credential: Credential, place: Place | undefined, rest: Rest): Cell {
  return { credential, action: about.action, ...rest, ...expected(question(about, credential, place)) }
}

function listCell(about: About, credential: Credential, place: Place | undefined, query: Body, id: string): Cell {
  const { sees, ...expectation } = expectedList(question(about, credential, place))
  const call: Call = [about.action.split('.')[0]!, 'find', { query }]
  return { credential, action: about.action, call, ...expectation, list: { sees, id } }
}

/** A person's two credentials, the given task tokens by how near they are, and, for one of the actors, none. */
function credentials(actor: Actor, tokens: Partial<Record<Question['reach'], string | undefined>>): Credential[] {
  return [
    { actor, credential: 'access_token', token: actor.token, reach: 'elsewhere' },
    { actor, credential: 'api_key', token: actor.key.secret, reach: 'elsewhere' },
    ...Object.entries(tokens).map(([reach, token]) => ({ actor, credential: 'task_token', token, reach }) as Credential),
    ...(actor.role === 'member' ? [{ actor, credential: 'none', token: undefined, reach: 'elsewhere' } as const] : [])
  ]
}

/** Every actor in every place, with the tokens seen from the worktree itself. */
function* inPlaces({ actors, places }: Scene): Generator<{ actor: Actor; place: Place; by: Credential; mine: string | undefined }> {
  for (const [index, place] of places.entries())
    for (const actor of Object.values(actors)) {
      const next = places[(index + 1) % places.length]!.own[actor.role].tokens[actor.role]
      const tokens = { worktree: place.own[actor.role].tokens[actor.role], elsewhere: next }
      for (const by of credentials(actor, tokens)) yield { actor, place, by, mine: place.grants[actor.role] }
    }
}

/** Every actor at every session, their own and a foreign one, with the tokens seen from that session. */
function* inSessions({ actors, places }: Scene): Generator<{ actor: Actor; place: Place; spot: Spot; own: boolean; by: Credential }> {
  for (const [index, place] of places.entries())
    for (const actor of Object.values(actors))
      for (const own of [false, true]) {
        const [spot, otherSpot] = own ? [place.own[actor.role], place.foreign] : [place.foreign, place.own[actor.role]]
        const next = places[(index + 1) % places.length]!.own[actor.role]
        const tokens = { session: spot.tokens[actor.role], worktree: otherSpot.tokens[actor.role], elsewhere: next.tokens[actor.role] }
        for (const by of credentials(actor, tokens)) yield { actor, place, spot, own, by }
      }
}

let counter = 0
const unique = () => `change ${++counter}`

/** Every method of every service: for each, one cell per caller and place. */
const cellsOf: Record<(typeof SERVICES)[number], (scene: Scene) => Cell[] | Promise<Cell[]>> = {
  worktrees: (scene) => [
    ...[...inPlaces(scene)].flatMap(({ actor, place, by }) => {
      const { worktree_id: record, others_can } = place
      const remove = async () => {
        const worktree_id = await likePlace(scene, place, actor)
        return { call: ['worktrees', 'remove', worktree_id] as Call, record: worktree_id }
      }
      return [
        listCell({ action: 'worktrees.find' }, by, place, { worktree_id: record }, record),
        cell({ action: 'worktrees.get' }, by, place, { call: ['worktrees', 'get', record], record }),
        cell({ action: 'worktrees.patch', fields: ['name'] }, by, place, { call: ['worktrees', 'patch', record, { name: unique() }], record }),
        cell({ action: 'worktrees.patch', fields: ['others_can'] }, by, place, { call: ['worktrees', 'patch', record, { others_can }], record, same: true }),
        cell({ action: 'worktrees.remove' }, by, place, { call: ['worktrees', 'remove', record], record, fresh: remove })
      ]
    }),
    ...anywhere(scene).map((by) => cell({ action: 'worktrees.create' }, by, undefined, { call: ['worktrees', 'create', { name: unique() }] }))
  ],

  grants: (scene) =>
    [...inPlaces(scene)].flatMap(({ actor, place, by, mine }) => {
      const { worktree_id, bystanders_grant, grant } = place
      const create = (user_id: string, reason: boolean, own: boolean) => {
        const call = (id: string): Call => ['grants', 'create', { worktree_id: id, user_id, level: 'view', ...(reason && { reason: 'an outage' }) }]
        const fresh = async () => ({ call: call(await likePlace(scene, place, actor)) })
        return cell({ action: 'grants.create', own, reason }, by, place, { call: call(worktree_id), fresh })
      }
      const patch = (record: string, level: Level, reason: boolean, own: boolean) => {
        const data = { level, ...(reason && { reason: unique() }) }
        return cell({ action: 'grants.patch', own, reason }, by, place, { call: ['grants', 'patch', record, data], record, same: !reason })
      }
      const remove = (record: string, whose: Person, level: Level, own: boolean) => {
        const fresh = async () => {
          const id = await likePlace(scene, place, actor, own)
          const again = await scene.world.grant(scene.keeper, id, whose, level)
          return { call: ['grants', 'remove', again] as Call, record: again }
        }
        return cell({ action: 'grants.remove', own }, by, place, { call: ['grants', 'remove', record], record, fresh })
      }
      return [
        listCell({ action: 'grants.find' }, by, place, { worktree_id }, bystanders_grant),
        cell({ action: 'grants.get' }, by, place, { call: ['grants', 'get', bystanders_grant], record: bystanders_grant }),
        ...[false, true].flatMap((reason) => [
          create(scene.stranger.user_id, reason, false),
          patch(bystanders_grant, 'view', reason, false),
          // One grant for one person: who has one cannot get another, they patch it.
          ...(mine ? [patch(mine, grant!, reason, true)] : [create(actor.user_id, reason, true)])
        ]),
        remove(bystanders_grant, scene.bystander, 'view', false),
        ...(mine ? [remove(mine, actor, grant!, true)] : [])
      ]
    }),

  sessions: (scene) => [
    ...[...inSessions(scene)].flatMap(({ actor, place, spot: { session_id: record }, own, by }) => {
      const fresh = async () => {
        const session_id = await scene.world.session(own ? actor : scene.keeper, place.worktree_id)
        return { call: ['sessions', 'remove', session_id] as Call, record: session_id }
      }
      return [
        listCell({ action: 'sessions.find', own }, by, place, { worktree_id: place.worktree_id }, record),
        cell({ action: 'sessions.get', own }, by, place, { call: ['sessions', 'get', record], record }),
        cell({ action: 'sessions.patch', own }, by, place, { call: ['sessions', 'patch', record, { title: unique() }], record }),
        cell({ action: 'sessions.remove', own }, by, place, { call: ['sessions', 'remove', record], record, fresh })
      ]
    }),
    ...[...inPlaces(scene)].map(({ place: { worktree_id }, place, by }) =>
      cell({ action: 'sessions.create' }, by, place, { call: ['sessions', 'create', { worktree_id, title: 'new' }] })
    )
  ],

  tasks: (scene) =>
    [...inSessions(scene)].flatMap(({ place, spot: { session_id, task_id, other_task_id }, own, by }) => [
      listCell({ action: 'tasks.find', own }, by, place, { session_id }, task_id),
      cell({ action: 'tasks.create', own }, by, place, { call: ['tasks', 'create', { session_id, prompt: 'again' }] }),
      ...[task_id, other_task_id].flatMap((record) => {
        // The token in this session is the one of its first task.
        const near: Credential = by.reach === 'session' && record === task_id ? { ...by, reach: 'task' } : by
        const fresh = async () => {
          const again = await scene.world.task(scene.keeper, session_id)
          return { call: ['tasks', 'remove', again] as Call, record: again }
        }
        return [
          cell({ action: 'tasks.get', own }, near, place, { call: ['tasks', 'get', record], record }),
          cell({ action: 'tasks.patch', own }, near, place, { call: ['tasks', 'patch', record, { because: unique() }], record }),
          cell({ action: 'tasks.remove', own }, near, place, { call: ['tasks', 'remove', record], record, fresh }),
          cell({ action: 'task-tokens.create', own }, near, place, { call: [`tasks/${record}/token`, 'create', {}], record })
        ]
      })
    ]),

  messages: (scene) =>
    [...inSessions(scene)].flatMap(({ place, spot: { session_id, message_id: record }, own, by }) => {
      const fresh = async () => {
        const again = await scene.world.message(scene.keeper, session_id)
        return { call: ['messages', 'remove', again] as Call, record: again }
      }
      return [
        listCell({ action: 'messages.find', own }, by, place, { session_id }, record),
        cell({ action: 'messages.create', own }, by, place, { call: ['messages', 'create', { session_id, role: 'assistant', content: 'hi' }] }),
        cell({ action: 'messages.get', own }, by, place, { call: ['messages', 'get', record], record }),
        cell({ action: 'messages.patch', own }, by, place, { call: ['messages', 'patch', record, { content: unique() }], record }),
        cell({ action: 'messages.remove', own }, by, place, { call: ['messages', 'remove', record], record, fresh }),
        cell({ action: 'message-revisions.find', own }, by, place, { call: [`messages/${record}/revisions`, 'find'], record })
      ]
    }),

  journal: (scene) =>
    [...inPlaces(scene)].flatMap(({ place, by }) => [
      listCell({ action: 'journal.find' }, by, place, { worktree_id: place.worktree_id, $sort: { seq: 1 }, $limit: 1 }, place.journal_id),
      cell({ action: 'journal.get' }, by, place, { call: ['journal', 'get', place.journal_id], record: place.journal_id })
    ]),

  users: (scene) =>
    anywhere(scene).flatMap((by) => {
      const patches = (person: Person, role: Role, own: boolean) =>
        Object.entries({ name: unique(), email: person.email, role, active: true }).map(([field, value]) =>
          cell({ action: 'users.patch', own, fields: [field] }, by, undefined, {
            call: ['users', 'patch', person.user_id, { [field]: value }],
            record: person.user_id,
            same: field !== 'name'
          })
        )
      const user = { name: 'new', email: `${unique().replace(' ', '-')}@example.com`, password: 'long enough', role: 'viewer' }
      return [
        listCell({ action: 'users.find' }, by, undefined, { user_id: scene.stranger.user_id }, scene.stranger.user_id),
        cell({ action: 'users.create' }, by, undefined, { call: ['users', 'create', user] }),
        ...[by.actor, scene.bystander].map(({ user_id }) =>
          cell({ action: 'users.get', own: user_id === by.actor.user_id }, by, undefined, { call: ['users', 'get', user_id], record: user_id })
        ),
        ...patches(by.actor, by.actor.role, true),
        ...patches(scene.bystander, 'member', false)
      ]
    }),

  'api-keys': (scene) =>
    anywhere(scene).flatMap((by) => {
      const fresh = async () => {
        const { api_key_id } = await scene.world.apiKey(by.actor)
        return { call: ['api-keys', 'remove', api_key_id] as Call, record: api_key_id }
      }
      return [
        listCell({ action: 'api-keys.find', own: true }, by, undefined, {}, by.actor.key.api_key_id),
        cell({ action: 'api-keys.create', own: true }, by, undefined, { call: ['api-keys', 'create', { name: 'new' }] }),
        ...[by.actor.key, scene.keepersKey].flatMap(({ api_key_id: record }) => {
          const own = record === by.actor.key.api_key_id
          return [
            cell({ action: 'api-keys.get', own }, by, undefined, { call: ['api-keys', 'get', record], record }),
            cell({ action: 'api-keys.remove', own }, by, undefined, { call: ['api-keys', 'remove', record], record, fresh })
          ]
        })
      ]
    }),

  authentication: async (scene) => {
    // Signing out uses the credential up, whether it is an access token or a key.
    const spare = async ({ actor, credential, token }: Credential) => {
      if (credential === 'access_token') return (await scene.world.signInAgain(actor)).token
      return credential === 'api_key' ? (await scene.world.apiKey(actor)).secret : token
    }
    const cells: Cell[] = []
    for (const by of anywhere(scene)) {
      const token = await spare(by)
      cells.push(cell({ action: 'authentication.remove', own: true }, { ...by, token }, undefined, { call: ['authentication', 'remove', null] }))
    }
    return cells
  }
}

/** For what belongs to no worktree: every actor with every kind of credential. */
function anywhere({ actors, places }: Scene): Credential[] {
  return Object.values(actors).flatMap((actor) => credentials(actor, { elsewhere: places[0]!.own[actor.role].tokens[actor.role] }))
}

/** A worktree of its own in which the actor has the level of the place. */
async function likePlace({ world, keeper }: Scene, { grant, others_can }: Place, actor: Actor, withoutGrant = false): Promise<string> {
  const worktree_id = await world.worktree(keeper, others_can)
  if (grant && !withoutGrant) await world.grant(keeper, worktree_id, actor, grant)
  return worktree_id
}

interface Doors {
  transport: Door['transport']
  of(credential: Credential): Promise<Door>
  close(): Promise<void>
}

/** One door per credential, opened when it is first needed. */
function openDoors(url: string, transport: Door['transport']): Doors {
  const doors = new Map<string | undefined, Promise<Door>>()
  return {
    transport,
    of({ token }) {
      if (transport === 'rest') return Promise.resolve(client(url, token))
      const door = doors.get(token) ?? openSocket(url, token)
      doors.set(token, door)
      return door
    },
    async close() {
      for (const door of await Promise.all(doors.values())) door.close()
    }
  }
}

interface Result {
  cell: Cell
  answer: Answer
  /** The record that the call named. */
  record: string | undefined
}

/** Runs all cells, then holds the answers, the journal and the records against what the table says. */
async function run(scene: Scene, doors: Doors, cells: Cell[]): Promise<void> {
  const { world, keeper } = scene
  for (const { credential } of cells) await doors.of(credential)
  const before = await versions(scene, cells)
  const mark = await world.journalEnd()
  const results: Result[] = []
  const prepared = new Set<string | null | undefined>()
  await inParallel(IN_FLIGHT, cells, async (cell) => {
    const fresh = isAllowed(cell) ? await cell.fresh?.() : undefined
    prepared.add(fresh?.record)
    const { call, record } = fresh ?? cell
    const [path, method, ...args] = call
    results.push({ cell, record, answer: await (await doors.of(cell.credential)).call(path, method, ...args) })
  })
  const rows = (await world.journalSince(mark)).filter(
    (row) => row.actor_id !== keeper.user_id && !(row.action.endsWith('.create') && prepared.has(row.resource.id))
  )

  const problems = [
    ...results.flatMap(wrongAnswer),
    ...wrongRows(results, rows, doors.transport),
    ...wrongVersions(cells, before, await versions(scene, cells))
  ]
  expect(summary(problems), `${problems.length} problems in ${cells.length} cells`).to.deep.equal([])
}

const isAllowed = ({ code }: Cell): boolean => code === 'allowed'

function wrongAnswer({ cell, answer }: Result): string[] {
  const code = answer.status < 300 ? 'allowed' : codeOf(answer)
  if (answer.status !== cell.status || code !== cell.code) {
    return [`${title(cell)}: ${answer.status} ${code}, not ${cell.status} ${cell.code} ${JSON.stringify(cell.call)} ${JSON.stringify(answer.body)}`]
  }
  if (!cell.list || !isAllowed(cell)) return []
  const { id, sees } = cell.list
  const found = rowsOf(answer).some((row) => Object.values(row).includes(id))
  return found === sees ? [] : [`${title(cell)}: the list ${found ? 'shows' : 'does not show'} ${id}`]
}

/** Each cell has its one row, which is the one that its answer names; and there are no other rows. */
function wrongRows(results: Result[], rows: JournalRow[], transport: Door['transport']): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const wanted = results.map((result) => expectedRow(result, transport))
  const misnamed = results.flatMap(({ cell, answer }, index) => {
    const named = answer.headers.get('x-decision-id') ?? (answer.body['data'] as Body | undefined)?.['decision_id']
    // A socket has no headers: an answer that allows names no row.
    if (named === undefined && transport === 'socketio' && answer.status < 300) return []
    const row = byId.get(String(named))
    const key = row ? rowKey(row) : 'no row'
    return key === wanted[index] ? [] : [`${title(cell)}: the answer names ${key}, not ${wanted[index]}`]
  })
  const surplus = count(rows.map(rowKey))
  for (const [key, times] of count(wanted)) surplus.set(key, (surplus.get(key) ?? 0) - times)
  const uneven = [...surplus].filter(([, times]) => times !== 0)
  return [...misnamed, ...uneven.map(([key, times]) => `${Math.abs(times)} row(s) too ${times > 0 ? 'many' : 'few'} of ${key}`)]
}

function expectedRow({ cell, record, answer }: Result, transport: Door['transport']): string {
  const decision = isAllowed(cell) ? 'allow' : 'deny'
  const [service] = cell.action.split('.')
  const who = cell.code === 'not_authenticated' ? 'nobody' : `${cell.credential.actor.user_id} by ${cell.credential.credential}`
  const id = record ?? (isAllowed(cell) && IDS[service!] && answer.body[IDS[service!]!]) ?? '*'
  return [who, cell.action, decision, cell.code, transport, namesRecord(cell.action, cell.code) ? String(id) : '*'].join(' ')
}

function rowKey({ actor_id, credential, action, decision, reason_code, transport, resource }: JournalRow): string {
  const who = actor_id ? `${actor_id} by ${credential?.kind}` : 'nobody'
  return [who, action, decision, reason_code, transport, namesRecord(action, reason_code) ? resource.id : '*'].join(' ')
}

/** A list, a record that was not made, and what was not looked up for lack of a credential have no id to name. */
function namesRecord(action: string, code: string): boolean {
  if (action === 'authentication.remove' || code === 'not_authenticated') return false
  if (action === 'task-tokens.create' || action === 'message-revisions.find') return true
  return !action.endsWith('.find') && (code === 'allowed' || !action.endsWith('.create'))
}

const IDS: Record<string, string> = {
  worktrees: 'worktree_id',
  grants: 'grant_id',
  sessions: 'session_id',
  tasks: 'task_id',
  messages: 'message_id',
  users: 'user_id',
  'api-keys': 'api_key_id'
}

/** The versions of the records that several cells share. */
async function versions({ world, keeper }: Scene, cells: Cell[]): Promise<Map<string, number>> {
  const shared = new Map(cells.filter((cell) => isWrite(cell) && !cell.action.startsWith('api-keys')).map(({ record, call }) => [record!, call[0]]))
  const found = new Map<string, number>()
  await inParallel(IN_FLIGHT, [...shared], async ([record, service]) => {
    const reader = service === 'users' ? world.root : keeper
    found.set(record, Number((await reader.rest.get(`/${service}/${record}`)).body['version']))
  })
  return found
}

/** A record changed once for each patch that was allowed, and by nothing else. */
function wrongVersions(cells: Cell[], before: Map<string, number>, after: Map<string, number>): string[] {
  return [...before].flatMap(([record, version]) => {
    const patches = cells.filter((cell) => cell.record === record && cell.call[1] === 'patch' && isAllowed(cell))
    const real = patches.filter((cell) => !cell.same).length
    const changes = after.get(record)! - version
    if (Number.isNaN(changes)) return [`${record} is gone`]
    return changes >= real && changes <= patches.length ? [] : [`${record} changed ${changes} times, for ${patches.length} allowed patches`]
  })
}

const isWrite = ({ call, record }: Cell): boolean => record !== undefined && (call[1] === 'patch' || call[1] === 'remove')

function title({ action, credential: { actor, credential, reach } }: Cell): string {
  return `${action} as ${actor.role} by ${credential}${credential === 'task_token' ? ` (${reach})` : ''}`
}

/** A wrong rule shows in hundreds of cells; the first of each kind are enough to find it. */
function summary(problems: string[]): string[] {
  const kinds = new Map<string, string>()
  for (const problem of problems) {
    const kind = problem.replace(/[0-9a-f-]{36}/g, 'ID').replace(/change \d+/g, 'change')
    if (!kinds.has(kind)) kinds.set(kind, problem)
  }
  return [...kinds.values()].slice(0, 40)
}

function count(keys: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}
