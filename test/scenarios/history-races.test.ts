import { expect } from 'chai'
import type { Answer, Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { expectSound, historyOf, numbered, tokenOf, type History } from './history-scene.js'

const ROUNDS = 30

describe('two changes of one history at the same moment', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const session = async (): Promise<History> => {
      const history = historyOf(alice.rest, await world.session(alice, worktree_id))
      await history.say(...numbered(6))
      return history
    }

    /** Does them at once, and answers with their statuses and with what is left. */
    const atOnce = async (history: History, ...changes: Promise<Answer>[]): Promise<[number[], Body[]]> => {
      const statuses = (await Promise.all(changes)).map(({ status }) => status)
      return [statuses, await expectSound(history)]
    }

    const pathOf = async ({ transcript }: History, index: number) =>
      `/messages/${text((await transcript()).at(index)!, 'message_id')}`

    it(`an edit and a removal of the same message: the estimate is that of what is left, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session()
        const path = await pathOf(history, 3)
        const edit = () => alice.rest.patch(path, { content: 'longer '.repeat(200) })
        const [statuses, rows] = await atOnce(
          history,
          ...(round % 2 ? [edit(), alice.rest.del(path)] : [alice.rest.del(path), edit()])
        )
        expect(statuses.toSorted(), `round ${round}`).to.be.deep.oneOf([
          [200, 200],
          [200, 404]
        ])
        expect(rows).to.have.lengthOf(5)
        await made(alice.rest.post(`${path}/restore`))
        await expectSound(history)
      }
    })

    it(`edits of a message and a compaction that covers it: the estimate is that of the context, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session()
        const paths = [await pathOf(history, 1), await pathOf(history, 5)]
        const [statuses] = await atOnce(
          history,
          ...paths.map((path) => alice.rest.patch(path, { content: 'longer '.repeat(100) })),
          history.compact(2)
        )
        expect(statuses).to.deep.equal([200, 200, 201])
      }
    })

    it(`a clear and a compaction: no summary of what was cleared is left in the context, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session()
        const [statuses, rows] = await atOnce(
          history,
          ...(round % 2 ? [history.clear(), history.compact(2)] : [history.compact(2), history.clear()])
        )
        expect(statuses.toSorted(), `round ${round}`).to.be.deep.oneOf([
          [201, 201],
          [201, 409]
        ])
        expect(rows, `round ${round}`).to.deep.equal([])
      }
    })

    it(`a truncate and a compaction: a boundary stands for something that is there, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session()
        const [, rows] = await atOnce(history, history.truncate(2), history.compact(1))
        const [boundary] = rows.filter(({ boundary_seq }) => boundary_seq !== null)
        // Compacted before: truncated with the rest. Compacted after: of the two that were left, one is kept.
        if (boundary) expect([boundary['boundary_seq'], rows.length], `round ${round}`).to.deep.equal([1, 3])
        else expect(rows).to.have.lengthOf(2)
      }
    })

    it(`a removal by hand, a restore and an undo of the same messages: each comes back once, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session()
        const [path, other] = [await pathOf(history, 4), await pathOf(history, 1)]
        const undo_token = tokenOf(await history.truncate(3))
        const [statuses, rows] = await atOnce(
          history,
          history.undo(undo_token),
          alice.rest.post(`${path}/restore`),
          alice.rest.del(other)
        )
        expect(statuses, `round ${round}`).to.be.deep.oneOf([
          [201, 201, 200],
          [201, 404, 200]
        ])
        expect(rows).to.have.lengthOf(5)
      }
    })

    it(`a fork and a compaction: the child has the whole summary or none of it, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session()
        const [forked, compacted] = await Promise.all([history.fork(1000), history.compact(2)])
        const child = await expectSound(historyOf(alice.rest, text(forked.body, 'session_id')))
        expect([compacted.status, (await expectSound(history)).length]).to.deep.equal([201, 7])
        expect(child.map(({ boundary_seq }) => boundary_seq)).to.be.deep.oneOf([
          Array(6).fill(null),
          [...Array<null>(6).fill(null), 4]
        ])
      }
    })
  })
})
