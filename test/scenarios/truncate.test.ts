import { expect } from 'chai'
import { client, codeOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, withoutIds } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { contentsOf, expectSound, historyOf, numbered, seqsOf, tokenOf, type History } from './history-scene.js'

const ROUNDS = 20

describe('truncate and clear', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let [alice, bob]: Person[] = []
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
      worktree_id = await world.worktree(alice)
    })

    const session = async (count: number, author = alice!): Promise<History> => {
      const history = historyOf(author.rest, await world.session(author, worktree_id))
      if (count) await history.say(...numbered(count))
      return history
    }

    for (const index of [0, 1])
      it(`E1: of 3 messages keep 10, 2 and 0 leave 3, 2 and 0, and the session lives on, ${['over REST', 'over a socket'][index]}`, async () => {
        const door = (await open(world.url, alice!.token))[index]!
        const history = await session(3)
        const truncate = (keep_count: number) => door.call(`sessions/${history.session_id}/truncate`, 'create', { keep_count })
        const all = await truncate(10)
        expect([all.status, all.body]).to.deep.equal([201, { kept: 3, removed: 0 }])
        expect(await expectSound(history)).to.have.lengthOf(3)
        for (const [keep, left] of [
          [2, 2],
          [0, 0]
        ] as const) {
          const { status, body } = await truncate(keep)
          expect([status, body['kept'], body['removed']]).to.deep.equal([201, left, left + (keep ? -1 : 2)])
          expect(body).to.have.all.keys('kept', 'removed', 'undo_token', 'undo_expires_at')
          expect(contentsOf(await expectSound(history))).to.deep.equal(numbered(left))
        }
        const empty = await truncate(0)
        expect([empty.status, empty.body]).to.deep.equal([201, { kept: 0, removed: 0 }])
        expect((await history.record())['message_count']).to.equal(0)
        expect(seqsOf(await history.say('goes on'))).to.deep.equal([4])
      })

    it('E1: a number to keep that is none is 400 and changes nothing, over REST and a socket', async () => {
      const history = await session(3)
      const before = [await history.record(), await history.transcript()]
      const bodies = [-1, 1.5, 'x', '2', null, [1], true, 2 ** 60].map((keep_count): unknown => ({ keep_count }))
      for (const door of await open(world.url, alice!.token))
        for (const body of [...bodies, {}, [], { keep_count: 1, more: 1 }, { keep_count: 1, session_id: history.session_id }]) {
          const { status } = await door.call(`sessions/${history.session_id}/truncate`, 'create', body)
          expect(status, `${door.transport} ${JSON.stringify(body)}`).to.equal(400)
        }
      for (const body of [{ keep_count: 0 }, [], { more: 1 }])
        expect((await alice!.rest.post(`/sessions/${history.session_id}/clear`, body)).status, JSON.stringify(body)).to.equal(400)
      expect([await history.record(), await history.transcript()]).to.deep.equal(before)
    })

    it('clear removes all of the messages and nothing else of the session', async () => {
      const history = await session(4)
      const before = await history.record()
      const { status, body } = await history.clear()
      expect([status, body['removed']]).to.deep.equal([201, 4])
      expect(body).to.have.all.keys('removed', 'undo_token', 'undo_expires_at')
      expect(await expectSound(history)).to.deep.equal([])
      const now = await history.record()
      const changed = Object.keys(now).filter((field) => JSON.stringify(now[field]) !== JSON.stringify(before[field]))
      expect(changed).to.have.members(['message_count', 'tokens_estimated', 'version', 'updated_at'])
      expect([now['version'], now['last_seq']]).to.deep.equal([2, 4])
      expect((await history.clear()).body).to.deep.equal({ removed: 0 })
    })

    it('a number is never given twice: after truncate, clear and undo the next message has the next one', async () => {
      const history = await session(5)
      await made(history.truncate(2))
      expect(seqsOf(await history.say('a', 'b'))).to.deep.equal([6, 7])
      const cleared = await history.clear()
      expect(seqsOf(await history.say('c'))).to.deep.equal([8])
      await made(history.undo(tokenOf(cleared)))
      expect(seqsOf(await history.say('d'))).to.deep.equal([9])
      expect(seqsOf(await expectSound(history))).to.deep.equal([1, 2, 6, 7, 8, 9])
      expect((await history.record())['last_seq']).to.equal(9)
    })

    it('truncate, clear and undo leave one row each in the journal, which says how many messages and which version', async () => {
      const history = await session(5)
      const row = (action: string, version: number, count: number) => ({
        kind: 'decision',
        decision: 'allow',
        reason_code: 'allowed',
        actor_id: alice!.user_id,
        action,
        resource: { type: 'session', id: history.session_id, claimed: null, actual: null },
        worktree_id,
        session_id: history.session_id,
        version,
        effect: { change: 'patched', fields: ['message_count'], count },
        spoofed: false
      })
      const mark = await world.journalEnd()
      await made(history.truncate(2))
      const cleared = await history.clear()
      await made(history.undo(tokenOf(cleared)))
      const rows = (await world.journalSince(mark)) as unknown as Body[]
      const expected = [
        row('session-truncations.create', 2, 3),
        row('session-clears.create', 3, 2),
        row('session-undos.create', 4, 2)
      ]
      expect(rows.map((found) => Object.fromEntries(Object.keys(expected[0]!).map((key) => [key, found[key]])))).to.deep.equal(
        expected
      )
      expect((await history.record())['version']).to.equal(4)
      expect(JSON.stringify(rows)).not.to.include(tokenOf(cleared))
    })

    it('who may patch the session may truncate it: `all`, or `session` in one’s own; less is 403, invisible is like absent', async () => {
      const shared = await world.worktree(alice!)
      const history = historyOf(alice!.rest, await world.session(alice!, shared))
      await history.say('mine')
      const path = (session_id: string, action: string) => `/sessions/${session_id}/${action}`
      const bodies: [string, Body][] = [
        ['truncate', { keep_count: 0 }],
        ['clear', {}],
        ['undo', { undo_token: absentId() }]
      ]
      for (const [action, body] of bodies)
        expect(withoutIds(await bob!.rest.post(path(history.session_id, action), body))).to.deep.equal(
          withoutIds(await bob!.rest.post(path(absentId(), action), body))
        )
      const grant_id = await world.grant(alice!, shared, bob!, 'prompt')
      for (const [action, body] of bodies) {
        const answer = await bob!.rest.post(path(history.session_id, action), body)
        expect([answer.status, codeOf(answer)], action).to.deep.equal([403, 'level_too_low'])
      }
      await made(alice!.rest.patch(`/grants/${grant_id}`, { level: 'session' }))
      const own = historyOf(bob!.rest, await world.session(bob!, shared))
      await own.say('bob’s')
      await made(own.undo(tokenOf(await own.clear())))
      await made(alice!.rest.patch(`/grants/${grant_id}`, { level: 'all' }))
      const removed = await made(historyOf(bob!.rest, history.session_id).truncate(0))
      expect(removed['removed']).to.equal(1)
    })

    it('a task token is refused with token_scope, and nothing is removed', async () => {
      const history = await session(3)
      const undo_token = tokenOf(await history.truncate(2))
      const token = await world.taskToken(alice!, await world.task(alice!, history.session_id))
      const calls: [string, Body][] = [
        ['truncate', { keep_count: 0 }],
        ['clear', {}],
        ['undo', { undo_token }]
      ]
      for (const door of await open(world.url, token))
        for (const [action, body] of calls) {
          const answer = await door.call(`sessions/${history.session_id}/${action}`, 'create', body)
          expect([answer.status, codeOf(answer)], `${door.transport} ${action}`).to.deep.equal([403, 'token_scope'])
        }
      expect(await expectSound(history)).to.have.lengthOf(2)
      expect((await client(world.url).post(`/sessions/${history.session_id}/clear`)).status).to.equal(401)
    })

    it(`messages that are written while it truncates are all kept or all removed, never counted wrong, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session(6)
        const [truncated, cut, ...lists] = await Promise.all([
          history.truncate(3),
          history.truncate(3),
          ...['a', 'b', 'c'].map((name) => history.say(`${name}1`, `${name}2`))
        ])
        const rows = await expectSound(history)
        const ids = rows.map((row) => text(row, 'message_id'))
        for (const list of lists)
          expect([0, 2]).to.include(list.filter(({ message_id }) => ids.includes(String(message_id))).length)
        const removed = await history.removed()
        expect([rows.length + removed.length, (await history.record())['last_seq']]).to.deep.equal([12, 12])
        expect(removed.length).to.equal(Number(truncated.body['removed']) + Number(cut.body['removed']))
      }
    })
  })
})
