import { expect } from 'chai'
import { appendThrough, expectAppended, oneTo, transcriptOf } from '../support/appending.js'
import { client, codeOf, type Body, type Client, type Door } from '../support/client.js'
import { startDaemon, type Daemon } from '../support/daemon.js'
import { doorKeeper } from '../support/doors.js'
import { eachStore } from '../support/stores.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

const ROUNDS = 50
const HANDOVERS = 200

describe('two daemons on one database', function () {
  this.timeout(180_000)

  eachStore((kind) => {
    const open = doorKeeper()
    let daemons: Daemon[]
    let world: World
    let alice: Person
    /** Alice at the first and at the second daemon, with the one token that the first has given her. */
    let rest: [Client, Client]
    let session_id: string
    let path: string

    before(async () => {
      const store = await kind.make()
      const first = await store.start()
      // One file is one home; on PostgreSQL the second is on another machine, as far as it knows.
      const second = kind.name === 'SQLite' ? await store.start() : await startDaemon({ databaseUrl: store.url })
      kind.afterwards(second.stop)
      daemons = [first, second]
      world = await buildWorld(first.url)
      alice = await world.user('alice')
      rest = [client(first.url, alice.token), client(second.url, alice.token)]
    })

    beforeEach(async () => {
      session_id = await world.session(alice, await world.worktree(alice))
      path = `/sessions/${session_id}`
    })

    /** The same from both, or it fails. */
    const stored = async (): Promise<Body> => {
      const [one, other] = [await made(rest[0].get(path)), await made(rest[1].get(path))]
      expect(other).to.deep.equal(one)
      return one
    }

    it('H4: A1 with half of 50 clients at each: all 1000 are there, numbered without a gap, each client’s in its order, at both', async () => {
      const doors = oneTo(50).map((index): Door => client(daemons[index % 2]!.url, alice.token))
      const answers = await appendThrough(doors, session_id, 20)
      for (const reader of rest) await expectAppended(reader, session_id, answers)
    })

    it('H4: A1 with half of 10 sockets at each: all 200 are there, numbered without a gap, each socket’s in its order, at both', async () => {
      const doors = await Promise.all(oneTo(10).map(async (index) => (await open(daemons[index % 2]!.url, alice.token))[1]!))
      const answers = await appendThrough(doors, session_id, 20)
      for (const reader of rest) await expectAppended(reader, session_id, answers)
    })

    it('H4: lists that are created at both at once are each there whole, in one piece and in their order', async () => {
      const lists = oneTo(40).map((list) => oneTo(25).map((part) => ({ session_id, role: 'user', content: `${list}: ${part}` })))
      const answers = await Promise.all(lists.map((list, index) => rest[index % 2]!.post('/messages', list)))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(40).fill(201))
      const found = await transcriptOf(rest[0], session_id)
      expect(found.map(({ seq }) => seq)).to.deep.equal(oneTo(1000))
      const pieces = oneTo(40).map((piece) =>
        found
          .slice((piece - 1) * 25, piece * 25)
          .map(({ content }) => content)
          .join()
      )
      expect(pieces.sort()).to.deep.equal(lists.map((list) => list.map(({ content }) => content).join()).sort())
      expect(await transcriptOf(rest[1], session_id)).to.deep.equal(found)
    })

    it(`H4: the same client_message_id at both at once is one message, ${ROUNDS} times`, async () => {
      for (const round of oneTo(ROUNDS)) {
        const message = { session_id, role: 'user', content: 'once', client_message_id: `${round}` }
        const answers = await Promise.all([0, 1, 0, 1].map((at) => rest[at]!.post('/messages', message)))
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 200, 201])
        expect(new Set(answers.map(({ body }) => body['message_id'])).size).to.equal(1)
      }
      expect((await transcriptOf(rest[1], session_id)).map(({ seq }) => seq)).to.deep.equal(oneTo(ROUNDS))
      expect((await stored())['message_count']).to.equal(ROUNDS)
    })

    it(`H4: B1: patches of different fields at both at once both survive, and count two versions, ${ROUNDS} times`, async () => {
      for (const round of oneTo(ROUNDS)) {
        const patches = [{ model: `m${round}` }, { title: `t${round}` }]
        await Promise.all(patches.map((patch, index) => made(rest[(round + index) % 2]!.patch(path, patch))))
        const { model, title, version } = await stored()
        expect([model, title, version]).to.deep.equal([`m${round}`, `t${round}`, 1 + 2 * round])
      }
    })

    it(`H4: B2: different keys of settings at both at once all survive, ${ROUNDS} times`, async () => {
      for (const round of oneTo(ROUNDS)) {
        const settings = { tool_policy: { round }, thinking: `deep ${round}`, zero: 0, list: [round] }
        await Promise.all(
          Object.entries(settings).map(([key, value], index) =>
            made(rest[index % 2]!.patch(path, { settings: { [key]: value } }))
          )
        )
        const now = await stored()
        expect([now['settings'], now['version']]).to.deep.equal([settings, 1 + 4 * round])
      }
    })

    it(`H4: B3: of two patches with the same version, one at each, exactly one wins, ${ROUNDS} times`, async () => {
      for (const round of oneTo(ROUNDS)) {
        const headers = { 'if-match': `"${round}"` }
        const answers = await Promise.all(rest.map((at, index) => at.patch(path, { title: `${round} at ${index}` }, headers)))
        expect(answers.map(({ status }) => status).sort(), `round ${round}`).to.deep.equal([200, 412])
        expect(answers.map(codeOf).filter(Boolean)).to.deep.equal(['version_conflict'])
        const winner = answers.find(({ status }) => status === 200)!
        expect([winner.body['version'], await stored()]).to.deep.equal([round + 1, winner.body])
      }
    })

    for (const [from, to] of [
      [0, 1],
      [1, 0]
    ] as const)
      it(`H5: a model that daemon ${from + 1} has answered is what daemon ${to + 1} reads and gives to a task, ${HANDOVERS} times`, async () => {
        for (const round of oneTo(HANDOVERS)) {
          const model = `m${round} from ${from}`
          await made(rest[from].patch(path, { model }))
          const [session, task] = await Promise.all([
            made(rest[to].get(path)),
            made(rest[to].post('/tasks', { session_id, prompt: `${round}` }))
          ])
          expect([session['model'], task['effective_model']], `round ${round}`).to.deep.equal([model, model])
        }
      })

    it(`H5: a right that is taken away at one daemon is gone at the other at once, and back when it is given again, ${ROUNDS} times`, async () => {
      const bob = await world.user('bob')
      const { worktree_id } = await stored()
      for (const round of oneTo(ROUNDS)) {
        const [here, there] = [rest[round % 2]!, client(daemons[(round + 1) % 2]!.url, bob.token)]
        const { grant_id } = await made(here.post('/grants', { worktree_id, user_id: bob.user_id, level: 'view' }))
        const allowed = await there.get(path)
        await made(here.del(`/grants/${String(grant_id)}`))
        const refused = await there.get(path)
        expect([allowed.status, refused.status], `round ${round}`).to.deep.equal([200, 404])
      }
    })
  })
})
