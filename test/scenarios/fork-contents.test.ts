import { expect } from 'chai'
import type { Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import {
  answered,
  calls,
  contentsOf,
  expectSound,
  historyOf,
  numbered,
  results,
  said,
  seqsOf,
  type History
} from './history-scene.js'

describe('what a fork copies', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = async (...messages: (string | Body)[]): Promise<History> => {
      const history = historyOf(alice.rest, await world.session(alice, worktree_id))
      await history.say(...messages)
      return history
    }

    const forked = async (source: History, at_seq: number, more: Body = {}): Promise<History> =>
      historyOf(alice.rest, text(await made(source.fork(at_seq, more)), 'session_id'))

    it('an idle session is cut exactly where it is asked for; beyond the end is the end; a child can be forked again', async () => {
      const source = await session(...numbered(9))
      for (const at_seq of [0, 1, 4, 8, 9, 10, 2 ** 31 - 1]) {
        const child = await forked(source, at_seq)
        const seq = Math.min(at_seq, 9)
        expect(contentsOf(await expectSound(child)), `at ${at_seq}`).to.deep.equal(numbered(seq))
        expect((await child.record())['forked_from']).to.deep.equal({ session_id: source.session_id, seq })
        expect(seqsOf(await child.say('next'))).to.deep.equal([seq + 1])
      }
      const child = await forked(await forked(source, 6), 3, { title: 'a grandchild' })
      expect(contentsOf(await expectSound(child))).to.deep.equal(numbered(3))
      expect((await child.record())['title']).to.equal('a grandchild')
    })

    it('a number that is none, an unknown field and a list are 400, and no session is made', async () => {
      const source = await session(...numbered(2))
      const count = async () => (await made(source.rest.get(`/sessions?worktree_id=${worktree_id}&$limit=0`)))['total']
      const before = await count()
      const bodies = [-1, 1.5, 'x', null, [1]].map((at_seq): unknown => ({ at_seq }))
      for (const body of [...bodies, {}, [], { at_seq: 1, nonsense: 1 }, { at_seq: 1, title: 5 }, { at_seq: 1, worktree_id: 5 }])
        expect((await source.rest.post(`/sessions/${source.session_id}/fork`, body)).status, JSON.stringify(body)).to.equal(400)
      expect(await count()).to.equal(before)
    })

    it('a tool_use never goes without its tool_result', async () => {
      const source = await session(said('x'), calls('a', 'b'), results('a'), results('b'), answered('y'), calls('c'))
      for (const [at_seq, end] of [
        [1, 1],
        [2, 1],
        [3, 1],
        [4, 4],
        [5, 5],
        [6, 5]
      ] as const)
        expect(await expectSound(await forked(source, at_seq)), `at ${at_seq}`).to.have.lengthOf(end)
      await source.say(results('c'))
      expect(await expectSound(await forked(source, 6))).to.have.lengthOf(5)
      expect(await expectSound(await forked(source, 7))).to.have.lengthOf(7)
    })

    it('a tool_use whose result came after other prompts, or much later, does not go without it either', async () => {
      const source = await session(said('x'), calls('a'), said('hurry'), said('please'), results('a'), answered('y'))
      for (const [at_seq, end] of [
        [2, 1],
        [3, 1],
        [4, 1],
        [5, 5]
      ] as const)
        expect(await expectSound(await forked(source, at_seq)), `at ${at_seq}`).to.have.lengthOf(end)
      const long = await session(said('x'), calls('a'), ...numbered(300), results('a'))
      for (const [at_seq, end] of [
        [200, 1],
        [302, 1],
        [303, 303]
      ] as const)
        expect(await expectSound(await forked(long, at_seq)), `at ${at_seq}`).to.have.lengthOf(end)
    })

    it('what was removed is not copied, and the copies are numbered without a gap', async () => {
      const source = await session(...numbered(8))
      for (const { seq, message_id } of await source.transcript())
        if ([2, 5].includes(Number(seq))) await made(source.rest.del(`/messages/${String(message_id)}`))
      await made(source.truncate(5))
      const child = await forked(source, 6)
      const rows = await expectSound(child)
      expect([contentsOf(rows), seqsOf(rows)]).to.deep.equal([
        ['message 1', 'message 3', 'message 4', 'message 6'],
        [1, 2, 3, 4]
      ])
      expect(await child.removed()).to.deep.equal([])
      expect((await child.record())['last_seq']).to.equal(4)
    })

    it('a boundary means the same in the child: the context there is the context here', async () => {
      const source = await session(...numbered(8))
      await made(source.rest.del(`/messages/${text((await source.transcript())[1]!, 'message_id')}`))
      await made(source.compact(4, { summary: 'first' }))
      await source.say('message 10', 'message 11')
      await made(source.compact(1, { summary: 'second' }))
      await source.say('message 13')
      const shown = async (history: History) => contentsOf((await history.context())['messages'])
      const whole = await forked(source, 13)
      expect(await shown(whole)).to.deep.equal(await shown(source))
      expect(await shown(whole)).to.deep.equal(['second', 'message 11', 'message 13'])
      expect(contentsOf(await expectSound(whole))).to.deep.equal(contentsOf(await source.transcript()))
      const middle = await forked(source, 11)
      expect(await shown(middle)).to.deep.equal([
        'first',
        'message 5',
        'message 6',
        'message 7',
        'message 8',
        'message 10',
        'message 11'
      ])
      await expectSound(middle)
      const early = await forked(source, 8)
      expect([await shown(early), (await early.record())['boundary_seq']]).to.deep.equal([
        contentsOf(await early.transcript()),
        0
      ])
      const marker = (await whole.transcript()).at(-2)!
      await made(whole.rest.del(`/messages/${text(marker, 'message_id')}`))
      expect((await shown(whole))[0]).to.equal('first')
      await expectSound(whole)
    })
  })
})
