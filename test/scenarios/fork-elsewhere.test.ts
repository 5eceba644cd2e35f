import { expect } from 'chai'
import { codeOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, withoutIds } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { contentsOf, expectSound, historyOf, numbered, type History } from './history-scene.js'

const ROUNDS = 20

describe('who may fork, where to, and at the same moment as others write', () => {
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

    const session = async (count: number, place = worktree_id): Promise<History> => {
      const history = historyOf(alice!.rest, await world.session(alice!, place))
      await history.say(...numbered(count))
      return history
    }

    it('a fork takes `session` where it comes from: less is 403, and what is invisible is like what never was', async () => {
      const shared = await world.worktree(alice!)
      const { session_id } = await session(3, shared)
      const fork = (id: string) => bob!.rest.post(`/sessions/${id}/fork`, { at_seq: 2 })
      expect(withoutIds(await fork(session_id))).to.deep.equal(withoutIds(await fork(absentId())))
      const grant_id = await world.grant(alice!, shared, bob!, 'view')
      const refused = await fork(session_id)
      expect([refused.status, codeOf(refused)]).to.deep.equal([403, 'level_too_low'])
      await made(alice!.rest.patch(`/grants/${grant_id}`, { level: 'session' }))
      const child = await made(fork(session_id))
      expect([child['created_by'], child['worktree_id']]).to.deep.equal([bob!.user_id, shared])
      const copies = await expectSound(historyOf(bob!.rest, text(child, 'session_id')))
      expect(copies.map(({ created_by }) => created_by)).to.deep.equal([alice!.user_id, alice!.user_id])
    })

    it('a fork into another worktree takes `session` there too: seeing it is 403, not seeing it is 404, and none is made', async () => {
      const [from, to] = [await world.worktree(alice!), await world.worktree(alice!)]
      const { session_id } = await session(3, from)
      await world.grant(alice!, from, bob!, 'session')
      const fork = (worktree: string) => bob!.rest.post(`/sessions/${session_id}/fork`, { at_seq: 2, worktree_id: worktree })
      const invisible = await fork(to)
      expect([invisible.status, codeOf(invisible)]).to.deep.equal([404, 'not_found'])
      expect(withoutIds(invisible)).to.deep.equal(withoutIds(await fork(absentId())))
      const grant_id = await world.grant(alice!, to, bob!, 'view')
      const refused = await fork(to)
      expect([refused.status, codeOf(refused)]).to.deep.equal([403, 'level_too_low'])
      expect((await made(alice!.rest.get(`/sessions?worktree_id=${to}`)))['total']).to.equal(0)
      await made(alice!.rest.patch(`/grants/${grant_id}`, { level: 'session' }))
      const child = await made(fork(to))
      expect([child['worktree_id'], child['forked_from']]).to.deep.equal([to, { session_id, seq: 2 }])
      expect(await expectSound(historyOf(bob!.rest, text(child, 'session_id')))).to.have.lengthOf(2)
    })

    it('a task token cannot fork, over REST and a socket', async () => {
      const { session_id } = await session(2)
      const token = await world.taskToken(alice!, await world.task(alice!, session_id))
      for (const door of await open(world.url, token)) {
        const answer = await door.call(`sessions/${session_id}/fork`, 'create', { at_seq: 1 })
        expect([answer.status, codeOf(answer)], door.transport).to.deep.equal([403, 'token_scope'])
      }
    })

    it('a fork over a socket is the same, and leaves one row in the journal that names both sessions', async () => {
      const { session_id } = await session(4)
      for (const door of await open(world.url, alice!.token)) {
        const mark = await world.journalEnd()
        const child = await made(door.call(`sessions/${session_id}/fork`, 'create', { at_seq: 3 }))
        const rows = (await world.journalSince(mark)) as unknown as Body[]
        expect(
          rows.map(({ action, decision, effect, version, resource }) => ({ action, decision, effect, version, resource }))
        ).to.deep.equal([
          {
            action: 'session-forks.create',
            decision: 'allow',
            effect: { ...(rows[0]!['effect'] as Body), change: 'created', count: 3, from: session_id },
            version: 1,
            resource: { type: 'session', id: child['session_id'], claimed: null, actual: null }
          }
        ])
        expect(child['message_count']).to.equal(3)
      }
    })

    it(`a child is what its source was at one moment, whatever is written and removed beside it, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const source = await session(8)
        const late = ['a', 'b', 'c']
        const write = async () => {
          for (const name of late) await source.say(`${name}1`, `${name}2`)
        }
        const forks = async () => [await made(source.fork(1000)), await made(source.fork(1000))]
        const [, truncated, ...children] = await Promise.all([write(), source.truncate(4), forks(), forks()])
        expect(truncated.status).to.equal(201)
        const before = (await source.removed()).length - 4
        const moments = momentsOf(
          numbered(8),
          late.map((name) => [`${name}1`, `${name}2`]),
          before / 2
        )
        for (const { session_id } of children.flat()) {
          const rows = await expectSound(historyOf(alice!.rest, String(session_id)))
          expect(moments, `round ${round}`).to.include(contentsOf(rows).join())
        }
        expect(contentsOf(await expectSound(source)).join()).to.equal(moments.at(-1))
      }
    })
  })
})

/** All that the source ever was, when `before` of the lists came before it was truncated to 4. */
function momentsOf(base: string[], lists: string[][], before: number): string[] {
  const untruncated = Array.from({ length: before + 1 }, (_, count) => [...base, ...lists.slice(0, count).flat()])
  const truncated = Array.from({ length: lists.length - before + 1 }, (_, count) => [
    ...base.slice(0, 4),
    ...lists.slice(before, before + count).flat()
  ])
  return [...untruncated, ...truncated].map((contents) => contents.join())
}
