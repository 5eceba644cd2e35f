import { expect } from 'chai'
import { client, codeOf, type Answer, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { answered, contentsOf, expectSound, historyOf, numbered, seqsOf, tokenOf, type History } from './history-scene.js'

const ROUNDS = 20

describe('compact', () => {
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

    const session = async (count: number): Promise<History> => {
      const history = historyOf(alice!.rest, await world.session(alice!, worktree_id))
      if (count) await history.say(...numbered(count))
      return history
    }

    it('E5: what was posted while the summary was being written is all in the context after it, by seq', async () => {
      const history = await session(12)
      const task_id = await world.task(alice!, history.session_id)
      await made(alice!.rest.patch(`/tasks/${task_id}`, { status: 'running' }))
      const { last_seq } = await history.context()
      for (let turn = 0; turn < 5; turn++) {
        await history.say(`question ${turn}`)
        await history.say({ ...answered(`answer ${turn}`), task_id })
      }
      await made(alice!.rest.patch(`/tasks/${task_id}`, { status: 'completed' }))

      const { status, body } = await history.compact(2, { last_seq, summary: 'of twelve' })
      expect([status, body['boundary_seq'], body['compacted']]).to.deep.equal([201, 10, 10])
      const messages = (await history.context())['messages'] as Body[]
      const turns = [0, 1, 2, 3, 4].flatMap((turn) => [`question ${turn}`, `answer ${turn}`])
      expect(contentsOf(messages)).to.deep.equal(['of twelve', 'message 11', 'message 12', ...turns])
      expect(seqsOf(messages)).to.deep.equal([23, ...Array.from({ length: 12 }, (_, index) => index + 11)])
      expect(await expectSound(history)).to.have.lengthOf(23)
      expect((await made(alice!.rest.get(`/tasks/${task_id}`)))['status']).to.equal('completed')
    })

    it(`E5: of two compactions at once one is made, and the other is 409 nothing_to_compact, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session(6)
        const { last_seq } = await history.context()
        const more = round % 2 ? { last_seq } : {}
        const [first, second] = await Promise.all([
          history.compact(2, { summary: 'one', ...more }),
          history.compact(2, { summary: 'two', ...more }),
          ...(round % 2 ? [history.say('meanwhile')] : [])
        ])
        const outcomes = [first!, second!].map((answer) => ('status' in answer ? `${answer.status} ${codeOf(answer)}` : ''))
        expect(outcomes.sort(), `round ${round}`).to.deep.equal(['201 undefined', '409 nothing_to_compact'])
        const rows = await expectSound(history)
        expect(rows.filter(({ boundary_seq }) => boundary_seq !== null)).to.have.lengthOf(1)
        expect(rows).to.have.lengthOf(round % 2 ? 8 : 7)
      }
    })

    it('E6: of 20 messages keep 4: the context is the summary and the last 4, and the 20 are all there byte for byte', async () => {
      const history = await session(18)
      await history.say({
        role: 'user',
        content: [{ type: 'text', text: ' é\u202e\ud83d ', b: 1, a: [null] }],
        metadata: { b: 1, a: 2 }
      })
      await history.say(answered(''))
      const originals = JSON.stringify(await history.transcript())
      const before = await history.record()
      const { status, body } = await history.compact(4, { summary: 'of sixteen' })
      const messages = (await history.context())['messages'] as Body[]
      expect([status, body]).to.deep.equal([
        201,
        {
          message_id: messages[0]!['message_id'],
          boundary_seq: 16,
          compacted: 16,
          kept: 4,
          tokens_estimated: (await history.record())['tokens_estimated']
        }
      ])
      expect(seqsOf(messages)).to.deep.equal([21, 17, 18, 19, 20])
      const { role, content, boundary_seq, task_id, created_by } = messages[0]!
      expect({ role, content, boundary_seq, task_id, created_by }).to.deep.equal({
        role: 'system',
        content: 'of sixteen',
        boundary_seq: 16,
        task_id: null,
        created_by: alice!.user_id
      })
      const rows = await expectSound(history)
      expect(JSON.stringify(rows.slice(0, 20)) === originals, 'the originals').to.equal(true)
      expect(JSON.stringify(await history.transcript({ include: 'compacted' })) === JSON.stringify(rows), 'include').to.equal(
        true
      )
      const all = (await history.context({ include: 'compacted' }))['messages']
      expect([contentsOf(all), seqsOf(all)]).to.deep.equal([contentsOf(rows), seqsOf(rows)])
      const now = await history.record()
      expect([
        now['message_count'],
        now['boundary_seq'],
        Number(now['tokens_estimated']) < Number(before['tokens_estimated'])
      ]).to.deep.equal([21, 16, true])
    })

    it('E9: a marker without a summary starts the context anew; without the marker the earlier turns are in it again', async () => {
      const history = await session(5)
      const before = await history.context()
      const { status, body } = await history.compact(0, { summary: null })
      expect([status, body['boundary_seq'], body['kept']]).to.deep.equal([201, 5, 0])
      await history.say('anew')
      const messages = (await history.context())['messages']
      expect(contentsOf(messages)).to.deep.equal([null, 'anew'])
      expect(await expectSound(history)).to.have.lengthOf(7)
      await made(alice!.rest.del(`/messages/${text(body, 'message_id')}`))
      const after = await history.context()
      expect(after['messages']).to.deep.include.members(before['messages'] as Body[])
      expect([contentsOf(after['messages']), after['boundary_seq']]).to.deep.equal([[...numbered(5), 'anew'], 0])
      expect(await expectSound(history)).to.have.lengthOf(6)
    })

    it('E9: a second compaction stands for the first; without it the first counts again, without both none does', async () => {
      const history = await session(6)
      const first = await made(history.compact(3, { summary: 'first' }))
      await history.say('message 8')
      const second = await made(history.compact(1, { summary: 'second' }))
      expect([first['boundary_seq'], second['boundary_seq']]).to.deep.equal([3, 6])
      const shown = async () => contentsOf((await history.context())['messages'])
      expect(await shown()).to.deep.equal(['second', 'message 8'])
      await expectSound(history)
      await made(alice!.rest.del(`/messages/${text(second, 'message_id')}`))
      expect(await shown()).to.deep.equal(['first', 'message 4', 'message 5', 'message 6', 'message 8'])
      await expectSound(history)
      await made(alice!.rest.post(`/messages/${text(second, 'message_id')}/restore`))
      expect(await shown()).to.deep.equal(['second', 'message 8'])
      for (const { message_id } of [first, second]) await made(alice!.rest.del(`/messages/${String(message_id)}`))
      expect(await shown()).to.deep.equal([...numbered(6), 'message 8'])
      await expectSound(history)
    })

    it('what a session estimates is the sum over its context after any mix of operations', async () => {
      const history = await session(8)
      const steps: (() => Promise<Answer | Body[]>)[] = [
        () => history.say('long '.repeat(500)),
        () => history.compact(3, { summary: 'short' }),
        async () => edit(history, -1, 'an edited summary that is quite a bit longer than it was'),
        async () => edit(history, 0, 'edited under the boundary'),
        async () => edit(history, 7, [{ type: 'text', text: 'edited above the boundary' }]),
        async () => alice!.rest.del(`/messages/${text((await history.transcript())[1]!, 'message_id')}`),
        async () => alice!.rest.del(`/messages/${text((await history.transcript()).at(-2)!, 'message_id')}`),
        async () => alice!.rest.post(`/messages/${text((await history.removed())[0]!, 'message_id')}/restore`),
        () => history.compact(1, { summary: null }),
        async () => history.undo(tokenOf(await history.truncate(6))),
        () => history.truncate(7),
        () => history.say('x', 'y'),
        async () => history.undo(tokenOf(await history.clear())),
        () => history.clear(),
        () => history.say(answered(null))
      ]
      for (const [index, step] of steps.entries()) {
        const answer = await step()
        if ('status' in answer) expect(answer.status, `step ${index}: ${JSON.stringify(answer.body)}`).to.be.within(200, 201)
        await expectSound(history)
      }
      const [long] = await history.say('long '.repeat(500))
      expect(long!['tokens_estimated']).to.be.greaterThan(100)
    })

    it('the task token of the session may compact it and read its context, and no other session’s', async () => {
      const [history, other] = [await session(4), await session(4)]
      const token = await world.taskToken(alice!, await world.task(alice!, history.session_id))
      const [rest, socket] = await open(world.url, token)
      const compact = (door: typeof rest, { session_id }: History) =>
        door!.call(`sessions/${session_id}/compact`, 'create', { summary: 'by the task', keep_last: 1 })
      expect((await compact(rest, history)).status).to.equal(201)
      await history.say('a', 'b')
      expect((await compact(socket, history)).status).to.equal(201)
      expect((await socket!.call(`sessions/${history.session_id}/context`, 'find')).body['boundary_seq']).to.equal(6)
      for (const door of [rest, socket]) {
        const answers = [await compact(door, other), await door!.call(`sessions/${other.session_id}/context`, 'find')]
        expect(answers.map((answer) => [answer.status, codeOf(answer)])).to.deep.equal(Array(2).fill([403, 'token_scope']))
      }
      expect(await expectSound(other)).to.have.lengthOf(4)
      await expectSound(history)
    })

    it('who may write messages may compact, who may see the session reads its context, and to others there is none', async () => {
      const shared = await world.worktree(alice!)
      const history = historyOf(alice!.rest, await world.session(alice!, shared))
      await history.say(...numbered(4))
      const theirs = historyOf(bob!.rest, history.session_id)
      const context = () => bob!.rest.get(`/sessions/${history.session_id}/context`)
      const both = async () => [(await context()).status, (await theirs.compact(1)).status]
      expect(await both()).to.deep.equal([404, 404])
      const grant_id = await world.grant(alice!, shared, bob!, 'session')
      expect(await both()).to.deep.equal([200, 403])
      await made(alice!.rest.patch(`/grants/${grant_id}`, { level: 'prompt' }))
      expect(await both()).to.deep.equal([200, 201])
      expect((await client(world.url).get(`/sessions/${history.session_id}/context`)).status).to.equal(401)
    })
  })
})

async function edit({ rest, transcript }: History, index: number, content: unknown): Promise<Answer> {
  return rest.patch(`/messages/${text((await transcript()).at(index)!, 'message_id')}`, { content })
}
