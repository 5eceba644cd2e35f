import { expect } from 'chai'
import fc from 'fast-check'
import type { Knex } from 'knex'
import type { Answer, Body } from '../support/client.js'
import { chosenSeed } from '../support/randomness.js'
import { eachStore, rows as rowsIn } from '../support/stores.js'
import { buildWorld, text, type Person, type World } from '../support/world.js'
import { applyToModel, boundaryOf, live, newModel, type Model } from './history-model.js'
import { at, operations, perform, type Known, type Operation } from './history-operations.js'
import { expectSound, historyOf } from './history-scene.js'

const RUNS = 12
const LIMIT_MS = 18_000
const SESSIONS = 4

interface Place extends Known {
  model: Model
  /** What each message was numbered when it was accepted. */
  seqs: Map<string, unknown>
  gone: boolean
}

describe('whatever is done to the history of sessions', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    const seed = chosenSeed()
    let world: World
    let alice: Person
    let worktree_id: string
    let connection: Knex

    before(async () => {
      console.log(`      the same operations again: SEED=${seed}`)
      const store = await kind.make()
      world = await buildWorld((await store.start()).url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
      connection = store.connect()
    })

    /** On a slow machine there are fewer runs: late ones do nothing. */
    const check = async <T>(cases: fc.Arbitrary<T>, run: (places: Place[], one: T) => Promise<void>) => {
      const end = Date.now() + LIMIT_MS
      const property = fc.asyncProperty(cases, async (one) => {
        if (Date.now() < end) await run([await newPlace()], one)
      })
      await fc.assert(property, { seed, numRuns: RUNS })
    }

    const newPlace = async (): Promise<Place> => placeOf(await world.session(alice, worktree_id), newModel())

    it('E2: one after the other, each answer and all that is left are those of a small model', async () => {
      const list = fc.array(operations, { minLength: 20, maxLength: 100, size: 'max' })
      await check(list, async (places, sequence) => {
        for (const operation of sequence) await step(places, operation)
        for (const place of places) await expectModel(place)
      })
    })

    it('E2: at the same time, every message that was accepted is accounted for, and the numbers are those of the rows', async () => {
      const group = fc.array(operations, { minLength: 2, maxLength: 8, size: 'max' })
      await check(fc.array(group, { minLength: 4, maxLength: 12, size: 'max' }), async (places, groups) => {
        for (const group of groups) await together(places, group)
        for (const place of places) await expectAccounted(place)
      })
    })

    /** Does it to one of the sessions that are there, and to its model. */
    async function step(places: Place[], operation: Operation): Promise<void> {
      const place = chosen(places, operation)
      if (!place) return
      const said = JSON.stringify(operation)
      const answer = await perform(alice.rest, place, operation)
      const expected = applyToModel(place.model, place, operation)
      if (!answer || !expected) return expect([answer, expected], said).to.deep.equal([null, null]) as unknown as void
      expect(expected.statuses, `${said} was answered ${answer.status} ${JSON.stringify(answer.body)}`).to.include(answer.status)
      for (const [field, value] of Object.entries(expected.fields ?? {}))
        expect(answer.body[field], `${field} of ${said}`).to.equal(value)
      learn(place, operation, answer)
      if (expected.child) places.push(await childOf(answer, expected.child))
    }

    /** Does all of them at once, each with what is known before. */
    async function together(places: Place[], group: Operation[]): Promise<void> {
      const targets = group.map((operation) => chosen(places, operation))
      const answers = await Promise.all(
        group.map((operation, index) => targets[index] && perform(alice.rest, targets[index], operation))
      )
      for (const [index, answer] of answers.entries()) {
        const [place, operation] = [targets[index], group[index]!]
        if (!place || !answer) continue
        const deleted = group.some((other, nth) => other.do === 'delete' && targets[nth] === place)
        const said = `${JSON.stringify(operation)} was answered ${JSON.stringify(answer.body)}`
        expect(statusesOf(operation, deleted), said).to.include(answer.status)
        learn(place, operation, answer)
        if (operation.do === 'fork' && answer.status === 201) places.push(await childOf(answer, newModel()))
      }
      for (const place of places)
        if (!place.gone) place.last_seq = Number((await historyOf(alice.rest, place.session_id).record())['last_seq'])
    }

    async function childOf({ body }: Answer, model: Model): Promise<Place> {
      const place = placeOf(text(body, 'session_id'), model)
      const copies = await historyOf(alice.rest, place.session_id).transcript()
      place.ids.push(...copies.map((copy) => text(copy, 'message_id')))
      place.last_seq = Number(body['last_seq'])
      expect(copies.map(({ seq }) => seq)).to.deep.equal(copies.map((_, index) => index + 1))
      expect(body['message_count']).to.equal(copies.length)
      return place
    }

    async function expectModel(place: Place): Promise<void> {
      if (place.gone) return expectGone(place)
      const { model } = place
      const [rows, removed] = await expectAccounted(place)
      const essence = ({ seq, content, boundary_seq }: Body) => ({ seq, content, boundary_seq })
      const modelled = live(model).map(({ seq, content, boundary_seq }) => ({ seq, content, boundary_seq }))
      expect(rows.map(essence)).to.deep.equal(modelled)
      expect(removed.map(({ seq }) => seq)).to.deep.equal(model.rows.filter((row) => row.removed).map(({ seq }) => seq))
      const { boundary_seq, last_seq } = await historyOf(alice.rest, place.session_id).record()
      expect([boundary_seq, last_seq]).to.deep.equal([boundaryOf(model), model.last_seq])
    }

    /** Every accepted message is live or a tombstone, once, with a number of its own; and nothing else is there. */
    async function expectAccounted(place: Place): Promise<[rows: Body[], removed: Body[]]> {
      if (place.gone) return expectGone(place).then(() => [[], []])
      const history = historyOf(alice.rest, place.session_id)
      const rows = await expectSound(history)
      const removed = await history.removed()
      const all = [...rows, ...removed]
      expect(all.map(({ message_id }) => String(message_id)).sort()).to.deep.equal([...new Set(place.ids)].sort())
      const { last_seq, message_count } = await history.record()
      expect(all.map(({ seq }) => Number(seq)).sort((a, b) => a - b)).to.deep.equal(
        Array.from({ length: Number(last_seq) }, (_, index) => index + 1)
      )
      for (const [id, seq] of place.seqs) expect(all.find(({ message_id }) => message_id === id)?.['seq'], id).to.equal(seq)
      const [counted] = await rowsIn(
        connection,
        `SELECT s.last_seq, s.message_count, COUNT(m.seq) AS stored, COUNT(m.deleted_at) AS removed FROM sessions s
         LEFT JOIN messages m ON m.session_id = s.session_id WHERE s.session_id = ? GROUP BY s.session_id, s.last_seq, s.message_count`,
        [place.session_id]
      )
      expect(Object.fromEntries(Object.entries(counted!).map(([name, value]) => [name, Number(value)]))).to.deep.equal({
        last_seq,
        message_count,
        stored: all.length,
        removed: removed.length
      })
      return [rows, removed]
    }

    async function expectGone({ session_id }: Place): Promise<void> {
      expect((await alice.rest.get(`/sessions/${session_id}`)).status).to.equal(404)
      const left = await rowsIn(connection, 'SELECT message_id FROM messages WHERE session_id = ?', [session_id])
      expect(left).to.deep.equal([])
    }
  })
})

const placeOf = (session_id: string, model: Model): Place => ({
  session_id,
  model,
  ids: [],
  tokens: [],
  seqs: new Map(),
  last_seq: 0,
  gone: false
})

/** One that is still there. The last one is not deleted, and there are never many. */
function chosen(places: Place[], { on, ...operation }: Operation): Place | undefined {
  const there = places.filter(({ gone }) => !gone)
  if (operation.do === 'delete' && there.length < 2) return undefined
  if (operation.do === 'fork' && there.length >= SESSIONS) return undefined
  return at(there, on)
}

/** What it may be answered beside others: only what depends on one message or token, or on what is deleted, can be missing. */
function statusesOf({ do: done }: Operation, deleted: boolean): number[] {
  const mayMiss = deleted || ['edit', 'remove', 'restore', 'undo'].includes(done)
  const mayConflict = done === 'compact' || done === 'repeat'
  const success = ['edit', 'remove', 'delete'].includes(done) ? [200] : done === 'repeat' ? [200, 201] : [201]
  return [...success, ...(mayMiss ? [404] : []), ...(mayConflict ? [409] : [])]
}

/** What the answer says about messages, tokens and the end of the session. */
function learn(place: Place, operation: Operation, { status, body }: Answer): void {
  if (status > 201) return
  if (operation.do === 'append' || operation.do === 'repeat')
    for (const message of Array.isArray(body) ? (body as Body[]) : [body]) {
      const id = text(message, 'message_id')
      if (!place.ids.includes(id)) place.ids.push(id)
      place.seqs.set(id, message['seq'])
      place.last_seq = Math.max(place.last_seq, Number(message['seq']))
    }
  if (operation.do === 'compact') {
    place.ids.push(text(body, 'message_id'))
    place.last_seq += 1
  }
  if (typeof body['undo_token'] === 'string') place.tokens.push(body['undo_token'])
  if (operation.do === 'delete') place.gone = true
}
