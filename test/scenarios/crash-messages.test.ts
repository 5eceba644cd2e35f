import { expect } from 'chai'
import { oneTo } from '../support/appending.js'
import { client } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { expectExactly, expectRetriesOnce, send, taken, type Append, type Sent } from '../support/keyed-appends.js'
import { chosenSeed, randomness } from '../support/randomness.js'
import { eachStore, type Store } from '../support/stores.js'
import { buildWorld, type Person, type World } from '../support/world.js'

/** Per database: 50 in all. */
const KILLS_AFTER_AN_ANSWER = 5
const KILLS_UNDER_LOAD = 20
const APPENDS = 200
const WRITERS = 8

describe('a daemon that is killed while messages are appended', function () {
  this.timeout(400_000)

  eachStore((kind) => {
    const seed = chosenSeed()
    const random = randomness(seed)
    let store: Store
    let daemon: Daemon
    let world: World
    let alice: Person
    let worktree_id: string

    before(async () => {
      store = await kind.make()
      daemon = await store.start()
      world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
    })

    const rest = () => client(daemon.url, alice.token)
    const session = () => world.session({ ...alice, rest: rest() }, worktree_id)
    const killAndRestart = async () => {
      await daemon.kill()
      daemon = await store.start()
    }

    it(`H1: a message or a list that was answered 201 is there after kill -9, ${KILLS_AFTER_AN_ANSWER} times`, async () => {
      const session_id = await session()
      const sent: Sent[] = []
      for (const round of oneTo(KILLS_AFTER_AN_ANSWER)) {
        sent.push(await send(rest(), session_id, { key: `${round}`, size: round % 2 ? 1 : 5 }))
        await killAndRestart()
        expect(sent.at(-1)!.status).to.equal(201)
        await expectExactly(rest(), session_id, sent)
      }
    })

    it(`H1: after kill -9 at ${KILLS_UNDER_LOAD} random points of ${APPENDS} appends every 201 is there, no number is missing, no list is there in part, and a retry writes each once`, async () => {
      console.log(`        the same points again: SEED=${seed}`)
      const runs: { session_id: string; sent: Sent[] }[] = []
      for (let kill = 1; kill <= KILLS_UNDER_LOAD; kill += 1) {
        const run = { session_id: await session(), sent: [] as Sent[] }
        runs.push(run)
        await appendAndKill(run, Math.floor(random() * (APPENDS - WRITERS)))
      }
      for (const { session_id, sent } of runs) await expectExactly(rest(), session_id, sent)
      const all = runs.flatMap(({ sent }) => sent)
      expect(all.filter(({ status }) => status !== 201 && status !== 0)).to.deep.equal([])
      expect(all.length, 'appends that were under way when it was killed').to.be.greaterThan(taken(all).length)
      for (const { session_id, sent } of runs) await expectRetriesOnce(rest(), session_id, sent)
    })

    /** Kills it when so many were answered: the others are under way then, or not yet sent. */
    async function appendAndKill({ session_id, sent }: { session_id: string; sent: Sent[] }, after: number): Promise<void> {
      const open = rest()
      const todo = oneTo(APPENDS)
        .map((index): Append => ({ key: `${index}`, size: random() < 0.3 ? 4 : 1 }))
        .values()
      let killed: Promise<void> | undefined
      const write = async () => {
        for (const append of todo) {
          if (killed) return
          sent.push(await send(open, session_id, append))
          // A turn later, so that the others have sent their next one.
          if (taken(sent).length >= after) killed ??= new Promise((resolve) => setImmediate(resolve)).then(killAndRestart)
        }
      }
      await Promise.all(oneTo(WRITERS).map(write))
      await killed
    }
  })
})
