import type { GrantLevel } from '@stoa/core/policy/levels'
import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { client, codeOf, rowsOf, type Body, type Client } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, detailsOf, doorKeeper, withoutIds, type Call } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('what one cannot see', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let [alice, bob]: Person[] = []
    let hers: Ids
    let his: Ids

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
      hers = await recordsOf(world, alice)
      his = await recordsOf(world, bob)
    })

    it('D1: is answered like what does not exist, by every service and method, over REST and a socket', async () => {
      const none = Object.fromEntries(Object.keys(hers).map((name) => [name, absentId()])) as unknown as Ids
      for (const door of await open(world.url, bob!.token))
        for (const [index, call] of callsOn(hers, bob!).entries()) {
          const name = `${door.transport} ${JSON.stringify(call)}`
          const absent = await door.call(...callsOn(none, bob!)[index]!)
          const invisible = await door.call(...call)
          expect([invisible.status, codeOf(invisible)], name).to.deep.equal([404, 'not_found'])
          expect([invisible.status, withoutIds(invisible)], name).to.deep.equal([absent.status, withoutIds(absent)])
          expect(Object.keys(detailsOf(invisible)), name).to.have.members(['code', 'request_id', 'decision_id'])
          expect(stableHeaders(invisible.headers), name).to.deep.equal(stableHeaders(absent.headers))
        }
    })

    it('D1: stays like what does not exist when the request is conditional, forbidden or wrong in another way', async () => {
      const rest = bob!.rest
      const own = `/sessions/${his.session_id}`
      const shapes: [string, (ids: Ids) => ReturnType<Client['get']>][] = [
        ['a version that is right', (ids) => rest.patch(`/sessions/${ids.session_id}`, { title: 'x' }, { 'if-match': '"1"' })],
        ['a version that is wrong', (ids) => rest.patch(`/sessions/${ids.session_id}`, { title: 'x' }, { 'if-match': '"9"' })],
        ['an identity field', (ids) => rest.patch(`/sessions/${ids.session_id}`, { created_by: bob!.user_id })],
        ['an unknown field', (ids) => rest.patch(`/sessions/${ids.session_id}`, { nonsense: 1 })],
        ['an illegal transition', (ids) => rest.patch(`/tasks/${ids.task_id}`, { status: 'dispatching' })],
        ['the last owner', (ids) => rest.del(`/grants/${ids.grant_id}`)],
        ['a parent', (ids) => rest.post('/sessions', { worktree_id: his.worktree_id, parent_session_id: ids.session_id })],
        ['a selection', (ids) => rest.get(`/messages/${ids.message_id}?$select=content`)],
        ['a filter', (ids) => rest.get(`/messages?session_id=${ids.session_id}`)],
        ['a filter by task', (ids) => rest.get(`/messages?task_id=${ids.task_id}`)],
        ['a filter by author', (ids) => rest.get(`/tasks?created_by=${ids.session_id}`)],
        ['a search', (ids) => rest.get(`/messages?search=hello&session_id=${ids.session_id}`)],
        ['what was removed', (ids) => rest.get(`/removed-messages?session_id=${ids.session_id}`)],
        ['a worktree to fork into', (ids) => rest.post(`${own}/fork`, { at_seq: 1, worktree_id: ids.worktree_id })],
        ['a token of another undo', (ids) => rest.post(`${own}/undo`, { undo_token: ids.undo_token })],
        ['nothing to compact', (ids) => rest.post(`/sessions/${ids.session_id}/compact`, { summary: 'x', keep_last: 9 })],
        ['an unknown field of a door', (ids) => rest.post(`/sessions/${ids.session_id}/clear`, { nonsense: 1 })],
        ['a format that is none', (ids) => rest.get(`/sessions/${ids.session_id}/export?format=x`)]
      ]
      const none = Object.fromEntries(Object.keys(hers).map((name) => [name, absentId()])) as unknown as Ids
      for (const [name, send] of shapes) {
        const [absent, invisible] = [await send(none), await send(hers)]
        expect([invisible.status, withoutIds(invisible)], name).to.deep.equal([absent.status, withoutIds(absent)])
      }
    })

    it('D1: a message that was removed is to everyone but an owner like one that never was; an owner finds it where tombstones are', async () => {
      const worktree_id = await world.worktree(alice!)
      const { removed_id, session_id } = await recordsOf(world, alice!, worktree_id)
      const near = await world.user('near')
      await world.grant(alice!, worktree_id, near, 'all')
      for (const door of await open(world.url, near.token)) {
        for (const [index, call] of tombstoneCalls(removed_id).entries()) {
          const name = `${door.transport} ${JSON.stringify(call)}`
          const [absent, removed] = [await door.call(...tombstoneCalls(absentId())[index]!), await door.call(...call)]
          expect([removed.status, codeOf(removed)], name).to.deep.equal([404, 'not_found'])
          expect(withoutIds(removed), name).to.deep.equal(withoutIds(absent))
          expect(stableHeaders(removed.headers), name).to.deep.equal(stableHeaders(absent.headers))
        }
        for (const query of [{ session_id }, { message_id: removed_id }, {}])
          expect((await door.call('removed-messages', 'find', { query })).body['total']).to.equal(0)
        expect((await door.call('messages', 'find', { query: { session_id, search: 'hello' } })).body['total']).to.equal(1)
      }
      for (const door of await open(world.url, alice!.token)) {
        for (const call of tombstoneCalls(removed_id).slice(0, 4)) expect((await door.call(...call)).status).to.equal(404)
        const found = await door.call('removed-messages', 'get', removed_id)
        expect([found.status, found.body['content']]).to.deep.equal([200, 'hello'])
      }
    })

    it('D2: without a credential, with a revoked, an expired or an invented one, every call is 401', async function () {
      this.timeout(120_000)
      const revoked = (await world.signInAgain(bob!)).token
      const [socket] = (await open(world.url, revoked)).slice(1)
      await made(client(world.url, revoked).del('/authentication'))
      const removed = await world.apiKey(bob!)
      await made(bob!.rest.del(`/api-keys/${removed.api_key_id}`))
      const expires_at = new Date(Date.now() + 500).toISOString()
      const short = await made(bob!.rest.post('/api-keys', { name: 'short', expires_at }))
      await sleep(600)
      const doors = [
        ...(await open(world.url)),
        socket!,
        ...[revoked, removed.secret, text(short, 'secret'), 'stoa_pat_nonsense', 'nonsense'].map((token) =>
          client(world.url, token)
        )
      ]
      for (const door of doors)
        for (const call of [...callsOn(his, bob!), ...callsOn(hers, bob!), ...listsAndCreations(his)]) {
          const answer = await door.call(...call)
          expect([answer.status, codeOf(answer)], `${door.transport} ${JSON.stringify(call)}`).to.deep.equal([
            401,
            'not_authenticated'
          ])
        }
      await made(bob!.rest.del(`/api-keys/${text(short, 'api_key_id')}`))
    })

    it('D3: is in no list and no total, whatever the query asks for', async () => {
      for (let more = 0; more < 3; more++) await recordsOf(world, alice!)
      for (const door of await open(world.url, bob!.token))
        for (const [service, key, own = key] of LISTS) {
          const all = await door.call(service, 'find', { query: {} })
          expect([all.body['total'], rowsOf(all).map((row) => row[key])], service).to.deep.equal([1, [his[own]]])
          for (const [query, mustAnswer] of widening(service, key, hers[own], alice!, hers)) {
            const name = `${door.transport} ${service} ${JSON.stringify(query)}`
            const answer = await door.call(service, 'find', { query })
            expect(answer.status, name).to.be.oneOf(mustAnswer ? [200] : [200, 400])
            if (answer.status !== 200) continue
            expect(answer.body['total'], name).to.be.at.most(1)
            for (const row of rowsOf(answer)) if (row[key] !== undefined) expect(row[key], name).to.equal(his[own])
            expect(JSON.stringify(answer.body), name).to.not.include(alice!.user_id)
            expect(answer.body['limit'], name).to.be.at.most(200)
          }
          if (service !== 'api-keys' && service !== 'grants') {
            const others = await door.call(service, 'find', { query: { created_by: alice!.user_id } })
            expect([others.status, others.body['total'], rowsOf(others)], service).to.deep.equal([200, 0, []])
          }
        }
    })

    it('D2: who sees a record and may not do this is 403 with the reason and the smallest grant, which then is enough and nothing less is', async function () {
      this.timeout(180_000)
      for (const [index, make] of forbidden.entries()) {
        for (const given of [null, 'view'] as const) {
          const worktree_id = await world.worktree(alice!, given ? 'none' : 'view')
          const ids = await recordsOf(world, alice!, worktree_id)
          const carol = await world.user(`carol-${index}-${given}`)
          const set = await settableLevel(world, alice!, worktree_id, carol)
          if (given) await set(given)
          const doors = await open(world.url, carol.token)
          const call = make(ids, carol)
          const smallest: unknown[] = []
          for (const door of doors) {
            const answer = await door.call(...call)
            const details = detailsOf(answer)
            expect(answer.status, JSON.stringify(call)).to.equal(403)
            expect(codeOf(answer)).to.be.oneOf(['level_too_low', 'not_owner'])
            for (const key of ['need', 'have', 'rule', 'decision_id']) expect(details[key], key).to.be.a('string')
            expect(details['have']).to.equal('view')
            const row = await made(world.root.rest.get(`/journal/${text(details, 'decision_id')}`))
            expect([row['decision'], row['reason_code'], row['actor_id']]).to.deep.equal(['deny', codeOf(answer), carol.user_id])
            smallest.push(details['smallest_grant'])
          }
          const { level } = smallest[0] as { level: GrantLevel }
          expect(smallest).to.deep.equal([{ level }, { level }])
          for (const lower of LEVELS.slice(1, LEVELS.indexOf(level))) {
            await set(lower)
            for (const door of doors)
              expect((await door.call(...call)).status, `${JSON.stringify(call)} as ${lower}`).to.equal(403)
          }
          await set(level)
          expect((await doors[index % 2]!.call(...call)).status, `${JSON.stringify(call)} as ${level}`).to.be.oneOf([200, 201])
        }
      }
    })
  })
})

interface Ids {
  worktree_id: string
  grant_id: string
  session_id: string
  task_id: string
  message_id: string
  /** A message that was removed, and what undoes it. */
  removed_id: string
  undo_token: string
  api_key_id: string
  journal_id: string
}

const LEVELS: readonly GrantLevel[] = ['view', 'session', 'prompt', 'all', 'owner']

/** Each list, the id in its rows, and which of the ids that is, where it has another name. */
const LISTS: [service: string, key: keyof Ids, own?: keyof Ids][] = [
  ['worktrees', 'worktree_id'],
  ['grants', 'grant_id'],
  ['sessions', 'session_id'],
  ['tasks', 'task_id'],
  ['messages', 'message_id'],
  ['removed-messages', 'message_id', 'removed_id'],
  ['api-keys', 'api_key_id']
]

async function recordsOf(world: World, owner: Person, given?: string): Promise<Ids> {
  const worktree_id = given ?? (await world.worktree(owner))
  const session_id = await world.session(owner, worktree_id)
  const [grant] = rowsOf(await owner.rest.get(`/grants?worktree_id=${worktree_id}`))
  const [entry] = rowsOf(await world.root.rest.get(`/journal?worktree_id=${worktree_id}&$limit=1`))
  const [message_id, removed_id] = [await world.message(owner, session_id), await world.message(owner, session_id)]
  const truncated = await made(owner.rest.post(`/sessions/${session_id}/truncate`, { keep_count: 1 }))
  return {
    worktree_id,
    grant_id: text(grant!, 'grant_id'),
    session_id,
    task_id: await world.task(owner, session_id),
    message_id,
    removed_id,
    undo_token: text(truncated, 'undo_token'),
    api_key_id: (await world.apiKey(owner)).api_key_id,
    journal_id: text(entry!, 'id')
  }
}

function callsOn(ids: Ids, caller: Person): Call[] {
  const { worktree_id, grant_id, session_id, task_id, message_id, removed_id, undo_token, api_key_id, journal_id } = ids
  return [
    ['worktrees', 'get', worktree_id],
    ['worktrees', 'patch', worktree_id, { name: 'x' }],
    ['worktrees', 'patch', worktree_id, { others_can: 'all' }],
    ['worktrees', 'remove', worktree_id],
    ['grants', 'get', grant_id],
    ['grants', 'patch', grant_id, { level: 'view' }],
    ['grants', 'remove', grant_id],
    ['grants', 'create', { worktree_id, user_id: caller.user_id, level: 'view' }],
    ['sessions', 'get', session_id],
    ['sessions', 'patch', session_id, { title: 'x' }],
    ['sessions', 'remove', session_id],
    ['sessions', 'create', { worktree_id }],
    [`sessions/${session_id}/fork`, 'create', { at_seq: 1 }],
    [`sessions/${session_id}/truncate`, 'create', { keep_count: 0 }],
    [`sessions/${session_id}/clear`, 'create', {}],
    [`sessions/${session_id}/undo`, 'create', { undo_token }],
    [`sessions/${session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }],
    [`sessions/${session_id}/context`, 'find', { query: {} }],
    [`sessions/${session_id}/context`, 'find', { query: { include: 'compacted', $limit: 0 } }],
    [`sessions/${session_id}/export`, 'find', { query: {} }],
    [`sessions/${session_id}/export`, 'find', { query: { format: 'md' } }],
    ['tasks', 'get', task_id],
    ['tasks', 'patch', task_id, { status: 'stopped' }],
    ['tasks', 'remove', task_id],
    ['tasks', 'create', { session_id, prompt: 'x' }],
    [`tasks/${task_id}/token`, 'create', {}],
    ['messages', 'get', message_id],
    ['messages', 'patch', message_id, { content: 'x' }],
    ['messages', 'remove', message_id],
    ['messages', 'create', { session_id, role: 'user', content: 'x' }],
    [`messages/${message_id}/revisions`, 'find'],
    [`messages/${message_id}/restore`, 'create', {}],
    ...tombstoneCalls(removed_id),
    ['api-keys', 'get', api_key_id],
    ['api-keys', 'remove', api_key_id],
    ['journal', 'get', journal_id]
  ]
}

/** All that can be asked of a message that was removed. */
function tombstoneCalls(removed_id: string): Call[] {
  return [
    ['messages', 'get', removed_id],
    ['messages', 'patch', removed_id, { content: 'x' }],
    ['messages', 'remove', removed_id],
    [`messages/${removed_id}/revisions`, 'find'],
    [`messages/${removed_id}/restore`, 'create', {}],
    ['removed-messages', 'get', removed_id]
  ]
}

function listsAndCreations({ worktree_id }: Ids): Call[] {
  const lists = ['users', 'worktrees', 'grants', 'sessions', 'tasks', 'messages', 'removed-messages', 'api-keys', 'journal']
  return [
    ...lists.map((service): Call => [service, 'find', { query: {} }]),
    ['worktrees', 'create', { name: 'x' }],
    ['api-keys', 'create', { name: 'x' }],
    ['users', 'get', worktree_id],
    ['authentication', 'remove', null]
  ]
}

/** What `view` sees and may not do. */
const forbidden: ((ids: Ids, caller: Person) => Call)[] = [
  ({ worktree_id }) => ['worktrees', 'patch', worktree_id, { name: 'x' }],
  ({ worktree_id }) => ['worktrees', 'patch', worktree_id, { others_can: 'view' }],
  ({ worktree_id }) => ['worktrees', 'remove', worktree_id],
  ({ grant_id }) => ['grants', 'patch', grant_id, { reason: 'x' }],
  ({ worktree_id }) => ['sessions', 'create', { worktree_id }],
  ({ session_id }) => ['sessions', 'patch', session_id, { title: 'x' }],
  ({ session_id }) => ['sessions', 'remove', session_id],
  ({ session_id }) => [`sessions/${session_id}/fork`, 'create', { at_seq: 1 }],
  ({ session_id }) => [`sessions/${session_id}/truncate`, 'create', { keep_count: 0 }],
  ({ session_id }) => [`sessions/${session_id}/clear`, 'create', {}],
  ({ session_id, undo_token }) => [`sessions/${session_id}/undo`, 'create', { undo_token }],
  ({ session_id }) => [`sessions/${session_id}/compact`, 'create', { summary: null, keep_last: 0 }],
  ({ session_id }) => ['tasks', 'create', { session_id, prompt: 'x' }],
  ({ task_id }) => ['tasks', 'patch', task_id, { status: 'stopped' }],
  ({ task_id }) => ['tasks', 'remove', task_id],
  ({ task_id }) => [`tasks/${task_id}/token`, 'create', {}],
  ({ session_id }) => ['messages', 'create', { session_id, role: 'user', content: 'x' }],
  ({ message_id }) => ['messages', 'patch', message_id, { content: 'x' }],
  ({ message_id }) => ['messages', 'remove', message_id]
]

/** Gives a level, with a new grant or by changing the one that is there. */
async function settableLevel(
  world: World,
  owner: Person,
  worktree_id: string,
  to: Person
): Promise<(level: GrantLevel) => Promise<void>> {
  let grant_id: string | undefined
  return async (level) => {
    if (grant_id) await made(owner.rest.patch(`/grants/${grant_id}`, { level }))
    else grant_id = await world.grant(owner, worktree_id, to, level)
  }
}

/** Queries of one who wants more than there is for them; whether each has to be answered with 200. */
function widening(service: string, key: keyof Ids, id: string, alice: Person, hers: Ids): [query: Body, mustAnswer: boolean][] {
  const searchable = service === 'messages'
  return [
    [{ [key]: id }, true],
    [{ [key]: { $in: [id] } }, true],
    [{ [key]: { $nin: [absentId()] } }, true],
    [{ [key]: { $ne: absentId() } }, true],
    [{ $or: [{ [key]: id }] }, true],
    [{ $or: [{ [key]: { $ne: absentId() } }, { [key]: id }] }, true],
    [{ $or: [{}, { [key]: id }] }, false],
    [{ $or: [] }, false],
    [{ $or: [{ created_by: alice.user_id }] }, false],
    [{ $and: [{ $or: [{ [key]: id }, { created_by: alice.user_id }] }] }, false],
    [{ $select: [key] }, true],
    [{ $select: ['created_at'] }, true],
    [{ $limit: 0 }, true],
    [{ $limit: -1 }, false],
    [{ $limit: 100000 }, true],
    [{ $skip: 1, $limit: 1 }, true],
    [{ $skip: -1 }, false],
    [{ $sort: { [key]: -1 } }, true],
    [{ created_by: { $ne: absentId() } }, false],
    [{ worktree_id: hers.worktree_id }, false],
    [{ session_id: hers.session_id }, false],
    [{ user_id: alice.user_id }, false],
    [{ search: 'hello' }, searchable],
    [{ search: 'hel*', session_id: hers.session_id }, searchable],
    [{ search: 'hello', $or: [{ [key]: id }] }, searchable],
    [{ search: 'hello', created_by: alice.user_id }, searchable],
    [{ search: 'hello', $select: [key] }, searchable],
    [{ search: 'hello', after_seq: 0 }, searchable],
    [{ include: 'compacted', session_id: hers.session_id }, searchable]
  ]
}

function stableHeaders(headers: Headers): Body {
  return Object.fromEntries([...headers].filter(([name]) => !['date', 'x-request-id', 'x-decision-id'].includes(name)))
}
