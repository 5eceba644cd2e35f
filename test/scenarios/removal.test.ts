import { expect } from 'chai'
import type { Knex } from 'knex'
import { client, codeOf, type Body } from '../support/client.js'
import { doorKeeper } from '../support/doors.js'
import { leftovers, orphans, type Gone } from '../support/leftovers.js'
import { eachStore, rows, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const ROUNDS = 20
const AT_ONCE = 10

describe('a session that is removed', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    const open = doorKeeper()
    let store: Store
    let world: World
    let alice: Person
    let bob: Person
    let worktree_id: string
    let connection: Knex

    before(async () => {
      store = await kind.make()
      world = await buildWorld((await store.start()).url)
      ;[alice, bob] = [await world.user('alice'), await world.user('bob')]
      worktree_id = await world.worktree(alice)
      await world.grant(alice, worktree_id, bob, 'all')
      connection = store.connect()
    })

    const removals = async (session_id: string, since: number) =>
      (await world.journalSince(since)).filter(
        ({ resource, decision, effect }) => resource.id === session_id && decision === 'allow' && effect?.['change'] === 'removed'
      )

    it('G7: is gone with its messages, revisions, tasks and tokens; the second removal is 404, and its children live on', async () => {
      const full = await fullSession(world, alice, worktree_id)
      const { session_id, token, children } = full
      const mark = await world.journalEnd()
      const removed = await alice.rest.del(`/sessions/${session_id}`)
      expect([removed.status, removed.body['session_id']]).to.deep.equal([200, session_id])
      for (let again = 0; again < 2; again++) {
        const answer = await alice.rest.del(`/sessions/${session_id}`)
        expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'not_found'])
      }
      expect(await removals(session_id, mark)).to.have.lengthOf(1)
      expect(await leftovers(connection, full)).to.deep.equal([])
      expect(await orphans(connection)).to.deep.equal([])
      for (const path of pathsOf(full)) expect((await alice.rest.get(path)).status, path).to.equal(404)
      expect((await client(world.url, token).get('/tasks')).status).to.equal(401)
      for (const child of children) {
        const { parent_session_id, title, message_count } = await made(alice.rest.get(`/sessions/${child}`))
        expect([parent_session_id, title, message_count]).to.deep.equal([null, 'a child', 1])
      }
      expect((await made(alice.rest.get(`/worktrees/${worktree_id}`)))['worktree_id']).to.equal(worktree_id)
    })

    it(`G7: of ${AT_ONCE} removals at once exactly one is 200 and in the journal, the others are 404, ${ROUNDS} times`, async () => {
      const doors = [...(await open(world.url, alice.token)), ...(await open(world.url, bob.token))]
      for (let round = 0; round < ROUNDS; round++) {
        const full = await fullSession(world, alice, worktree_id)
        const mark = await world.journalEnd()
        const answers = await Promise.all(
          Array.from({ length: AT_ONCE }, (_, nth) => doors[nth % doors.length]!.call('sessions', 'remove', full.session_id))
        )
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(AT_ONCE - 1).fill(404)])
        expect(await removals(full.session_id, mark)).to.have.lengthOf(1)
        expect(await leftovers(connection, full)).to.deep.equal([])
        const parents = await rows(connection, `SELECT parent_session_id FROM sessions WHERE session_id IN (?, ?)`, full.children)
        expect(parents).to.deep.equal([{ parent_session_id: null }, { parent_session_id: null }])
      }
      expect(await orphans(connection)).to.deep.equal([])
    })

    it('G11: is refused with 409 while it is pinned, and stays as it was; unpinned it goes', async () => {
      const full = await fullSession(world, alice, worktree_id)
      const path = `/sessions/${full.session_id}`
      await made(alice.rest.patch(path, { pinned: true }))
      const before = await made(alice.rest.get(path))
      const mark = await world.journalEnd()
      for (const door of [...(await open(world.url, alice.token)), bob.rest]) {
        const answer = await door.call('sessions', 'remove', full.session_id)
        expect([answer.status, codeOf(answer)]).to.deep.equal([409, 'pinned'])
      }
      expect(await made(alice.rest.get(path))).to.deep.equal(before)
      expect(await removals(full.session_id, mark)).to.deep.equal([])
      for (const part of pathsOf(full)) expect((await alice.rest.get(part)).status, part).to.equal(200)
      await made(alice.rest.patch(path, { pinned: false }))
      expect((await alice.rest.del(path)).status).to.equal(200)
      expect(await leftovers(connection, full)).to.deep.equal([])
    })

    it(`G11: of a pin and a removal at once exactly one succeeds, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const path = `/sessions/${await world.session(alice, worktree_id)}`
        const pin = () => alice.rest.patch(path, { pinned: true })
        const remove = () => bob.rest.del(path)
        const answers = await Promise.all(round % 2 ? [pin(), remove()] : [remove(), pin()])
        const [pinned, removed] = round % 2 ? answers : answers.reverse()
        expect([pinned!.status, removed!.status]).to.be.deep.oneOf([
          [200, 409],
          [404, 200]
        ])
        const { status, body } = await alice.rest.get(path)
        expect([status, body['pinned']]).to.deep.equal(pinned!.status === 200 ? [200, true] : [404, undefined])
      }
    })
  })
})

interface FullSession extends Gone {
  token: string
  children: [string, string]
}

/** A session with one of everything: edited, removed and plain messages, a queued and a running task, a token, two children. */
async function fullSession(world: World, alice: Person, worktree_id: string): Promise<FullSession> {
  const session_id = await world.session(alice, worktree_id)
  const running = await world.task(alice, session_id)
  const queued = await world.task(alice, session_id)
  const token = await world.taskToken(alice, running)
  await made(alice.rest.patch(`/tasks/${running}`, { status: 'running' }))
  const message = (content: string, more: Body = {}) => ({ session_id, role: 'user', content, ...more })
  const written = await alice.rest.post('/messages', [message('a'), message('b', { task_id: running }), message('c')])
  const message_id = (Object.values(await made(written)) as Body[]).map((row) => text(row, 'message_id'))
  await made(alice.rest.patch(`/messages/${message_id[0]!}`, { content: 'edited' }))
  await made(alice.rest.del(`/messages/${message_id[2]!}`))
  const child = async () => {
    const created = await made(alice.rest.post('/sessions', { worktree_id, title: 'a child', parent_session_id: session_id }))
    const id = text(created, 'session_id')
    await world.message(alice, id)
    return id
  }
  return { session_id, task_id: [running, queued], message_id, token, children: [await child(), await child()] }
}

/** Where its live parts can be read. */
function pathsOf({ session_id, task_id, message_id }: Gone): string[] {
  const messages = message_id.slice(0, 2)
  return [
    `/sessions/${session_id}`,
    ...task_id.map((id) => `/tasks/${id}`),
    ...messages.flatMap((id) => [`/messages/${id}`, `/messages/${id}/revisions`])
  ]
}
