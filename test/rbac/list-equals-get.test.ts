import type { GrantLevel, OthersLevel } from '@stoa/core/policy/levels'
import { expect } from 'chai'
import { client, queryString, rowsOf, type Body, type Client } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, inParallel, made, text, type Person, type World } from '../support/world.js'

const READABLE = ['worktrees', 'sessions', 'tasks', 'messages', 'removed-messages']

/** Every service with a list, and the id of its records. */
const IDS: Record<string, string> = {
  users: 'user_id',
  'api-keys': 'api_key_id',
  worktrees: 'worktree_id',
  grants: 'grant_id',
  sessions: 'session_id',
  tasks: 'task_id',
  messages: 'message_id',
  'removed-messages': 'message_id',
  journal: 'id'
}

describe('lists', () => {
  eachDatabase((database) => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
    let scene: Scene

    before(async function () {
      this.timeout(120_000)
      console.log(`      the same worlds again: SEED=${seed}`)
      const daemon = await database.start()
      scene = await randomScene(await buildWorld(daemon.url), randomness(seed))
    })

    for (const service of Object.keys(IDS)) {
      it(`J5: /${service}: everyone finds exactly the records that they may get, and total counts them`, async function () {
        this.timeout(120_000)
        for (const caller of scene.callers) {
          const visible = await gettable(caller, service, scene.ids[service]!)
          const { ids, total } = await pages(caller, service, scene.within[service] ?? {})
          expect(ids, `${caller.name} finds`).to.have.members(visible)
          expect(total, `total for ${caller.name}`).to.equal(visible.length)
        }
      })
    }

    for (const service of READABLE) {
      it(`D3: /${service}: created_by, $or, $in, $select and $limit show nobody more`, async function () {
        this.timeout(120_000)
        for (const caller of scene.callers) {
          const visible = await gettable(caller, service, scene.ids[service]!)
          for (const { query, matches } of narrowings(scene, service)) {
            const { ids, total } = await pages(caller, service, query)
            const wanted = visible.filter((id) => matches(scene.records.get(id)!))
            expect(ids, `${caller.name} ${JSON.stringify(query)}`).to.have.members(wanted)
            expect(total, `total of ${caller.name} ${JSON.stringify(query)}`).to.equal(wanted.length)
          }
          const all = await caller.rest.get(`/${service}?$limit=-1`)
          if (all.status === 200) expect(visible).to.include.members(idsOf(rowsOf(all), service))
          else expect(all.status).to.equal(400)
        }
      })
    }
  })
})

interface Caller {
  name: string
  rest: Client
  /** Services that this credential has no list of. */
  without: readonly string[]
}

interface Scene {
  callers: Caller[]
  /** Every record of the world, by its service. */
  ids: Record<string, string[]>
  records: Map<string, Body>
  authors: Person[]
  /** The journal grows while it is read: only what was there at the start is compared. */
  within: Record<string, Body>
}

type Random = (below: number) => number

async function randomScene(world: World, random: Random): Promise<Scene> {
  const pick = <T>(values: readonly T[]): T => values[random(values.length)]!
  const ids: Scene['ids'] = Object.fromEntries(Object.keys(IDS).map((service) => [service, []]))
  const people: Person[] = [world.root]
  for (const name of ['alice', 'bob', 'carol', 'vera']) people.push(await world.user(name))
  const tokens: string[] = []

  for (const owner of people) {
    ids['api-keys']!.push((await world.apiKey(owner)).api_key_id)
    for (let count = 1 + random(2); count > 0; count--) {
      // Open to everyone first, so that others leave something behind in what may be hidden from them later.
      const worktree_id = await world.worktree(owner, 'all')
      ids['worktrees']!.push(worktree_id)
      for (const author of people.filter(() => random(2) === 0)) {
        const session_id = await world.session(author, worktree_id)
        ids['sessions']!.push(session_id)
        const task_id = await world.task(pick(people), session_id)
        ids['tasks']!.push(task_id)
        for (let messages = random(5); messages > 0; messages--) {
          const message_id = await world.message(pick(people), session_id, pick(TEXTS))
          const removed = random(3) === 0
          if (removed) await made(owner.rest.del(`/messages/${message_id}`))
          ids[removed ? 'removed-messages' : 'messages']!.push(message_id)
        }
        tokens.push(await world.taskToken(author, task_id))
      }
      for (const other of people.filter((person) => person !== owner && random(3) === 0)) {
        await world.grant(owner, worktree_id, other, pick<GrantLevel>(['view', 'session', 'prompt', 'all', 'owner']))
      }
      await owner.rest.patch(`/worktrees/${worktree_id}`, {
        others_can: pick<OthersLevel>(['none', 'none', 'view', 'session', 'all'])
      })
    }
  }
  await world.root.rest.patch(`/users/${people.at(-1)!.user_id}`, { role: 'viewer' })

  ids['users'] = people.map(({ user_id }) => user_id)
  ids['grants'] = (await pages({ name: 'root', rest: world.root.rest, without: [] }, 'grants', {})).ids
  const end = await world.journalEnd()
  const within = { journal: { seq: { $lte: end } } }
  ids['journal'] = (await pages({ name: 'root', rest: world.root.rest, without: [] }, 'journal', within.journal)).ids
  const vera = await world.signInAgain(people.at(-1)!)
  return {
    callers: [
      ...[...people.slice(0, -1), vera].map(({ name, rest }) => ({ name, rest, without: [] })),
      ...[pick(tokens), pick(tokens)].map((token) => ({
        name: 'a task',
        rest: client(world.url, token),
        without: NOT_FOR_TOKENS
      }))
    ],
    ids,
    records: await recordsOf(world, people, ids),
    authors: people,
    within
  }
}

const NOT_FOR_TOKENS = ['users', 'api-keys', 'worktrees', 'grants', 'removed-messages', 'journal']

const TEXTS = ['hello world', 'Hello there', 'good bye']

/** Each record as somebody sees it who may. */
async function recordsOf(world: World, people: Person[], ids: Scene['ids']): Promise<Scene['records']> {
  const records = new Map<string, Body>()
  for (const service of READABLE) {
    for (const { token } of people) {
      const unknown = ids[service]!.filter((id) => !records.has(id))
      await inParallel(8, unknown, async (id) => {
        const { status, body } = await client(world.url, token).get(`/${service}/${id}`)
        if (status === 200) records.set(id, body)
      })
    }
  }
  return records
}

/** The ids for which `get` answers 200; every other answer must be 404, or for a task token also 403. */
async function gettable({ rest, without }: Caller, service: string, ids: string[]): Promise<string[]> {
  if (without.includes(service)) return []
  const found: string[] = []
  await inParallel(8, ids, async (id) => {
    const { status } = await rest.get(`/${service}/${id}`)
    if (status === 200) found.push(id)
    else expect(status).to.be.oneOf([403, 404])
  })
  return found
}

/** All pages of a list, in pages small enough to need several. */
async function pages({ rest, without }: Caller, service: string, query: Body): Promise<{ ids: string[]; total: number }> {
  const ids: string[] = []
  for (let $skip = 0; ; $skip += 7) {
    const answer = await rest.get(
      `/${service}${queryString({ ...query, $limit: 7, $skip, $sort: { [SORTED_BY[service] ?? 'created_at']: 1, [IDS[service]!]: 1 } })}`
    )
    if (without.includes(service)) {
      expect(answer.status).to.equal(403)
      return { ids, total: 0 }
    }
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    ids.push(...idsOf(rowsOf(answer), service))
    if (rowsOf(answer).length < 7) return { ids, total: Number(answer.body['total']) }
  }
}

const SORTED_BY: Record<string, string> = { journal: 'seq' }

/** Queries that try to reach further than the caller may see, each with what it means. */
function narrowings({ authors, ids }: Scene, service: string): { query: Body; matches(record: Body): boolean }[] {
  const id = IDS[service]!
  const some = ids[service]!.filter((_, index) => index % 3 === 0).slice(0, 20)
  return [
    ...authors.map(({ user_id }) => ({
      query: { created_by: user_id },
      matches: (record: Body) => record['created_by'] === user_id
    })),
    { query: { $or: some.map((one) => ({ [id]: one })) }, matches: (record) => some.includes(text(record, id)) },
    {
      query: { $or: [{ [id]: { $in: some } }, { created_by: { $ne: authors[0]!.user_id } }] },
      matches: (record) => some.includes(text(record, id)) || record['created_by'] !== authors[0]!.user_id
    },
    { query: { [id]: { $in: some } }, matches: (record) => some.includes(text(record, id)) },
    { query: { $select: [id, 'created_by'] }, matches: () => true },
    { query: { $select: [id], $limit: 200 }, matches: () => true },
    ...(service === 'messages' ? searches(some) : [])
  ]
}

function searches(some: string[]): ReturnType<typeof narrowings> {
  const says = (words: RegExp) => (record: Body) => words.test(String(record['content']))
  return [
    { query: { search: 'hello' }, matches: says(/hello/i) },
    { query: { search: 'HEL* there' }, matches: says(/there/) },
    {
      query: { search: 'hello', message_id: { $in: some } },
      matches: (record) => says(/hello/i)(record) && some.includes(text(record, 'message_id'))
    },
    { query: { search: 'canary' }, matches: () => false }
  ]
}

function idsOf(rows: Body[], service: string): string[] {
  return rows.map((row) => text(row, IDS[service]!))
}

/** The same numbers for the same seed (mulberry32). */
function randomness(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}
