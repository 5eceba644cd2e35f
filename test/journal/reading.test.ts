import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { client, queryString, rowsOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

describe('reading the journal', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let bob: Person
    let mine: string
    let shared: string
    let session_id: string
    /** Everything up to the end of `before`, as the admin reads it. */
    let all: JournalRecord[]
    let end: number

    before(async () => {
      world = await buildWorld((await database.start()).url)
      ;[alice, bob] = [await world.user('alice'), await world.user('bob')]
      ;[mine, shared] = [await world.worktree(alice), await world.worktree(alice, 'prompt')]
      const other = await world.worktree(bob)
      session_id = await world.session(alice, shared)
      const task_id = await world.task(bob, session_id)
      await world.session(alice, mine)
      await bob.rest.patch(`/tasks/${task_id}`, { status: 'completed' })
      await bob.rest.get(`/worktrees/${mine}`)
      await bob.rest.get(`/tasks/${task_id}?session_id=${await world.session(bob, other)}`)
      await client(world.url).get('/sessions')
      const door = await openSocket(world.url, bob.token)
      await door.call('tasks', 'get', task_id)
      door.close()
      await world.grant(alice, shared, bob, 'all')
      end = await world.journalEnd()
      all = (await read(world.root, {})).filter(({ seq }) => seq <= end)
    })

    /** The rows up to `end`: reading writes more of them. */
    const read = async (person: Person, query: Body): Promise<JournalRecord[]> => {
      const found = rowsOf(
        await person.rest.get(`/journal${queryString({ $sort: { seq: 1 }, $limit: 200, ...query })}`)
      ) as unknown as JournalRecord[]
      return found.filter(({ seq }) => seq <= end)
    }

    const expectFilter = async (query: Body, keeps: (row: JournalRecord) => boolean) => {
      const expected = all.filter(keeps).map(({ seq }) => seq)
      expect(expected.length, 'rows that the filter keeps').to.be.within(1, all.length - 1)
      expect((await read(world.root, query)).map(({ seq }) => seq)).to.deep.equal(expected)
    }

    const filters: Record<string, () => [query: Body, keeps: (row: JournalRecord) => boolean]> = {
      actor_id: () => [{ actor_id: bob.user_id }, (row) => row.actor_id === bob.user_id],
      decision: () => [{ decision: 'deny' }, (row) => row.decision === 'deny'],
      kind: () => [{ kind: 'access_change' }, (row) => row.kind === 'access_change'],
      reason_code: () => [{ reason_code: 'not_found' }, (row) => row.reason_code === 'not_found'],
      worktree_id: () => [{ worktree_id: mine }, (row) => row.worktree_id === mine],
      session_id: () => [{ session_id }, (row) => row.session_id === session_id],
      resource_type: () => [{ resource_type: 'task' }, (row) => row.resource.type === 'task'],
      resource_id: () => [{ resource_id: session_id }, (row) => row.resource.id === session_id],
      service: () => [{ service: 'worktrees' }, (row) => row.service === 'worktrees'],
      method: () => [{ method: 'patch' }, (row) => row.method === 'patch'],
      transport: () => [{ transport: 'socketio' }, (row) => row.transport === 'socketio'],
      'spoofed=true': () => [{ spoofed: true }, (row) => row.spoofed],
      'spoofed=false': () => [{ spoofed: false }, (row) => !row.spoofed],
      'ts[$gte]': () => [{ ts: { $gte: middle().ts } }, (row) => row.ts >= middle().ts],
      'ts[$lte]': () => [{ ts: { $lte: middle().ts } }, (row) => row.ts <= middle().ts],
      'ts[$gte] in another zone': () => [{ ts: { $gte: inTokyo(middle().ts) } }, (row) => row.ts >= middle().ts],
      after_seq: () => [{ after_seq: middle().seq }, (row) => row.seq > middle().seq],
      'two at once': () => [
        { actor_id: bob.user_id, decision: 'deny' },
        (row) => row.actor_id === bob.user_id && row.decision === 'deny'
      ]
    }
    const middle = (): JournalRecord => all[Math.floor(all.length / 2)]!

    for (const [name, filter] of Object.entries(filters)) {
      it(`${name}: exactly the rows that are so`, () => expectFilter(...filter()))
    }

    it('an unknown filter is refused instead of ignored', async () => {
      expect((await world.root.rest.get('/journal?colour=red')).status).to.equal(400)
      expect((await world.root.rest.get('/journal?decision[$regex]=.*')).status).to.equal(400)
    })

    it('an admin reads all of it, without a gap in what a page after another holds', async () => {
      const pages: number[] = []
      for (let after_seq = 0, page: JournalRecord[] = []; ; after_seq = page.at(-1)!.seq) {
        page = await read(world.root, { after_seq, $limit: 7 })
        pages.push(...page.map(({ seq }) => seq))
        if (page.length < 7) break
      }
      expect(pages).to.deep.equal(all.map(({ seq }) => seq))
    })

    it('an owner reads the rows of their worktrees, whoever made them, and no other', async () => {
      const expected = all.filter(({ worktree_id }) => worktree_id === mine || worktree_id === shared)
      expect((await read(alice, {})).map(({ seq }) => seq)).to.deep.equal(expected.map(({ seq }) => seq))
      expect(new Set(expected.map(({ actor_id }) => actor_id)).size).to.be.greaterThan(1)
      expect(expected.length).to.be.lessThan(all.length)
      expect(await read(alice, { actor_id: world.root.user_id })).to.deep.equal([])
    })

    it('a member reads nothing of a worktree that is not theirs, with any level below owner, not one row by its id either', async () => {
      const rows = await read(bob, { worktree_id: { $in: [mine, shared] } })
      expect(rows).to.deep.equal([])
      const entry = all.find(({ worktree_id, actor_id }) => worktree_id === shared && actor_id === bob.user_id)!
      expect((await bob.rest.get(`/journal/${entry.id}`)).status).to.equal(404)
      expect((await alice.rest.get(`/journal/${entry.id}`)).status).to.equal(200)
      expect((await world.root.rest.get(`/journal/${entry.id}`)).body['seq']).to.equal(entry.seq)
      const carol = await world.user('carol')
      expect((await carol.rest.get('/journal')).body['total']).to.equal(0)
    })

    it('whoever is made an owner reads it from the next call on, and whoever no longer is does not', async () => {
      const dora = await world.user('dora')
      const grant_id = await world.grant(alice, shared, dora, 'owner')
      expect((await read(dora, {})).length).to.equal(all.filter(({ worktree_id }) => worktree_id === shared).length)
      await made(alice.rest.del(`/grants/${grant_id}`))
      expect(await read(dora, {})).to.deep.equal([])
    })
  })
})

function inTokyo(ts: string): string {
  return new Date(Date.parse(ts) + 9 * 3_600_000).toISOString().replace('Z', '+09:00')
}
