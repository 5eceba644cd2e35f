import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { client, codeOf, type Body } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { eachStore, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person } from '../support/world.js'
import { answered, calls, contentsOf, expectSound, historyOf, numbered, results, seqsOf, type History } from './history-scene.js'

const KILLS = 2

describe('a compaction', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    let store: Store
    let daemon: Daemon
    let alice: Person
    let worktree_id: string

    before(async () => {
      store = await kind.make()
      daemon = await store.start()
      const world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = async (...messages: (string | Body)[]): Promise<History> => {
      const rest = client(daemon.url, alice.token)
      const history = historyOf(rest, text(await made(rest.post('/sessions', { worktree_id })), 'session_id'))
      if (messages.length) await history.say(...messages)
      return history
    }

    /** The same session through the daemon that runs now. */
    const again = ({ session_id }: History) => historyOf(client(daemon.url, alice.token), session_id)

    /** All that can be seen of a session, as text. */
    const stateOf = async (history: History) =>
      JSON.stringify([await history.record(), await history.context(), await history.transcript(), await history.removed()])

    it('E6: is the same after a restart', async () => {
      const history = await session(...numbered(20))
      await made(history.compact(4))
      const before = await stateOf(history)
      await daemon.kill()
      daemon = await store.start()
      expect((await stateOf(again(history))) === before).to.equal(true)
      expect(seqsOf((await again(history).context())['messages'])).to.deep.equal([21, 17, 18, 19, 20])
      await expectSound(again(history))
    })

    it('E7: with a bad body, or of nothing, leaves all as it was', async () => {
      const history = await session(...numbered(6))
      await made(history.compact(2))
      const before = await stateOf(history)
      const bodies: unknown[] = [
        {},
        [],
        { summary: 'x' },
        { keep_last: 0 },
        { summary: 5, keep_last: 0 },
        { summary: [{ type: 'text', text: 'x' }], keep_last: 0 },
        { summary: 'a\0b', keep_last: 0 },
        ...[-1, 1.5, 'x', null].flatMap((bad) => [
          { summary: 'x', keep_last: bad },
          { summary: 'x', keep_last: 0, last_seq: bad }
        ]),
        { summary: 'x', keep_last: 0, boundary_seq: 6 },
        { summary: 'x', keep_last: 0, role: 'user' }
      ]
      for (const body of bodies)
        expect((await history.rest.post(`/sessions/${history.session_id}/compact`, body)).status, JSON.stringify(body)).to.equal(
          400
        )
      for (const [keep, more] of [
        [2, {}],
        [6, {}],
        [1000, {}],
        [0, { last_seq: 4 }],
        [1, { last_seq: 5 }]
      ] as const) {
        const answer = await history.compact(keep, more)
        expect([answer.status, codeOf(answer)], JSON.stringify([keep, more])).to.deep.equal([409, 'nothing_to_compact'])
      }
      expect(await stateOf(history)).to.equal(before)
      const empty = await session()
      expect(codeOf(await empty.compact(0))).to.equal('nothing_to_compact')
      expect((await empty.record())['last_seq']).to.equal(0)
    })

    it(`E7: of a daemon that is killed in the midst of it is made as a whole or not at all, ${KILLS} times`, async () => {
      for (let kill = 0; kill < KILLS; kill++) {
        const history = await session(...numbered(10))
        const before = await stateOf(history)
        const connection = store.connect()
        await connection.raw(kind.name === 'SQLite' ? 'BEGIN IMMEDIATE' : 'BEGIN')
        // Reading goes on, so the compaction gets as far as its first write.
        if (kind.name === 'PostgreSQL') await connection.raw(`LOCK TABLE ${kill % 2 ? 'sessions' : 'messages'} IN SHARE MODE`)
        const compacted = history.compact(3).catch((error: unknown) => error)
        await sleep(150)
        await daemon.kill()
        await connection.raw('ROLLBACK')
        await connection.destroy()
        expect(await compacted, 'it was answered before it was written').to.be.an.instanceOf(TypeError)
        daemon = await store.start()
        const after = await stateOf(again(history))
        const rows = await expectSound(again(history))
        // PostgreSQL may go on with a statement whose client is gone: then all of it is there.
        if (kind.name === 'SQLite') expect(after).to.equal(before)
        else if (after !== before) expect([rows.length, rows.at(-1)!['boundary_seq']]).to.deep.equal([11, 7])
        expect((await again(history).compact(3)).status).to.be.oneOf(after === before ? [201] : [409])
      }
    })

    const boundaries: [name: string, messages: Body[], keep: number, boundary: number | null][] = [
      ['between two pairs', [calls('a'), results('a'), calls('b'), results('b')], 2, 2],
      ['that would part a pair', [answered('x'), calls('a'), results('a'), answered('y')], 2, 1],
      ['right after a pair', [answered('x'), calls('a'), results('a'), answered('y')], 1, 3],
      ['that would part the second of two results', [answered('x'), calls('a', 'b'), results('a'), results('b')], 1, 1],
      ['in a chain of calls', [answered('x'), calls('a'), chain('a', 'b'), chain('b', 'c'), results('c')], 1, 1],
      ['with messages between call and result', [answered('x'), calls('a'), answered('y'), answered('z'), results('a')], 2, 1],
      [
        'between a call and a result that is a hundred messages later',
        [answered('x'), calls('a'), ...many(100), results('a')],
        30,
        1
      ],
      ['that would have to be before the first message', [calls('a'), results('a'), answered('x')], 2, null],
      ['of a pair and nothing else', [calls('a'), results('a')], 0, 2]
    ]
    for (const [name, messages, keep, boundary] of boundaries)
      it(`never parts a tool_use from its tool_result: a boundary ${name}`, async () => {
        const history = await session(...messages)
        const answer = await history.compact(keep)
        if (boundary === null) expect(codeOf(answer)).to.equal('nothing_to_compact')
        else expect([answer.status, answer.body['boundary_seq']]).to.deep.equal([201, boundary])
        const shown = contentsOf((await history.context())['messages']).slice(boundary === null ? 0 : 1)
        expect(shown).to.deep.equal(contentsOf(messages.slice(boundary ?? 0)))
        await expectSound(history)
      })

    it('a context can be limited to its newest messages, says when it is not complete, and how much there is either way', async () => {
      const history = await session(...numbered(9))
      const full = await history.context()
      expect([full['complete'], full['message_count'], full['session_id']]).to.deep.equal([true, 9, history.session_id])
      const limited = async ($limit: number) => {
        const { messages, ...status } = await history.context({ $limit })
        const { messages: _all, ...whole } = full
        expect(status).to.deep.equal({ ...whole, complete: $limit >= 9 })
        return seqsOf(messages)
      }
      expect(await limited(0)).to.deep.equal([])
      expect(await limited(3)).to.deep.equal([7, 8, 9])
      expect(await limited(9)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9])
      expect(await limited(1000)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9])
      for (const query of ['$limit=-1', '$limit=1001', '$limit=x', 'include=all', 'include=', 'after_seq=x', 'nonsense=1'])
        expect((await history.rest.get(`/sessions/${history.session_id}/context?${query}`)).status, query).to.equal(400)

      await made(history.compact(4))
      const rest = await history.context({ $limit: 2 })
      expect(seqsOf(rest['messages'])).to.deep.equal([10, 9])
      expect([rest['complete'], rest['message_count'], rest['boundary_seq']]).to.deep.equal([false, 5, 5])
      const all = await history.context({ include: 'compacted', $limit: 6 })
      expect([seqsOf(all['messages']), all['complete']]).to.deep.equal([[5, 6, 7, 8, 9, 10], false])
      expect((await history.context({ include: 'compacted', $limit: 10 }))['complete']).to.equal(true)
    })

    it('a context of more than a thousand messages has the newest thousand, and says so', async () => {
      const history = await session(...numbered(500))
      for (const from of [501, 1001]) await history.say(...numbered(from === 501 ? 500 : 5, from))
      const { messages, complete, message_count } = await history.context()
      expect([(messages as Body[]).length, complete, message_count]).to.deep.equal([1000, false, 1005])
      expect([seqsOf(messages)[0], seqsOf(messages).at(-1)]).to.deep.equal([6, 1005])
    })
  })
})

function many(count: number): Body[] {
  return numbered(count).map((content) => answered(content))
}

/** The result of one call beside the next call. */
function chain(before: string, next: string): Body {
  return { role: 'assistant', content: [...(results(before)['content'] as Body[]), ...(calls(next)['content'] as Body[])] }
}
