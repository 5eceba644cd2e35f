import { expect } from 'chai'
import { codeOf, rowsOf } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, doorKeeper, withoutIds } from '../support/doors.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

const ROUNDS = 20
const AT_ONCE = 10

describe('a message that is removed', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let bob: Person
    let session_id: string
    let ids: string[]
    let second: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      ;[alice, bob] = [await world.user('alice'), await world.user('bob')]
    })

    beforeEach(async () => {
      const worktree_id = await world.worktree(alice)
      await world.grant(alice, worktree_id, bob, 'all')
      session_id = await world.session(alice, worktree_id)
      ids = []
      for (const content of ['one', 'two', 'three']) ids.push(await world.message(alice, session_id, content))
      second = ids[1]!
    })

    const transcript = async () => rowsOf(await alice.rest.get(`/messages?session_id=${session_id}`))
    const counts = async () => {
      const { message_count, last_seq } = await made(alice.rest.get(`/sessions/${session_id}`))
      return [message_count, last_seq]
    }
    const restore = (person = alice, message_id = second) => person.rest.post(`/messages/${message_id}/restore`)
    const revisions = async () => rowsOf(await alice.rest.get(`/messages/${second}/revisions`))

    it('leaves its neighbours and their seq, is counted no more, and its number is never given again', async () => {
      const [first, , third] = await transcript()
      expect((await alice.rest.del(`/messages/${second}`)).status).to.equal(200)
      expect(await transcript()).to.deep.equal([first, third])
      expect(await counts()).to.deep.equal([2, 3])
      for (const person of [alice, bob]) {
        expect((await person.rest.get(`/messages/${second}`)).status).to.equal(404)
        expect((await person.rest.get(`/messages/${second}/revisions`)).status).to.equal(404)
        expect((await person.rest.patch(`/messages/${second}`, { content: 'again' })).status).to.equal(404)
        expect((await person.rest.del(`/messages/${second}`)).status).to.equal(404)
      }
      await made(alice.rest.del(`/messages/${ids[2]!}`))
      await world.message(alice, session_id, 'four')
      expect((await transcript()).map(({ seq, content }) => [seq, content])).to.deep.equal([
        [1, 'one'],
        [4, 'four']
      ])
      expect(await counts()).to.deep.equal([2, 4])
    })

    it('comes back when an owner restores it, with the same seq, content and revisions, and is counted again', async () => {
      for (const content of ['two, edited', [{ type: 'text', text: 'two, as a block' }]])
        await made(bob.rest.patch(`/messages/${second}`, { content }))
      await made(alice.rest.patch(`/messages/${second}`, { metadata: { kept: true } }))
      const before = await transcript()
      const history = await revisions()
      await made(bob.rest.del(`/messages/${second}`))
      await world.message(alice, session_id, 'written since')
      expect(await counts()).to.deep.equal([3, 4])
      const mark = await world.journalEnd()
      const answer = await restore()
      expect(answer.status).to.equal(201)
      const { version: _version, updated_at: _updated, ...restored } = answer.body
      const { version: _before, updated_at: _at, ...original } = before[1]!
      expect(restored).to.deep.equal(original)
      expect(restored['deleted_at']).to.equal(null)
      expect(await revisions()).to.deep.equal(history)
      const now = await transcript()
      expect(now[1]).to.deep.equal(answer.body)
      expect([now[0], now[2]]).to.deep.equal([before[0], before[2]])
      expect(now.map(({ seq }) => seq)).to.deep.equal([1, 2, 3, 4])
      expect(await counts()).to.deep.equal([4, 4])
      const entries = (await world.journalSince(mark)).filter(({ action }) => action === 'message-restores.create')
      expect(entries.map(({ decision, resource, effect }) => [decision, resource.type, resource.id, effect])).to.deep.equal([
        ['allow', 'message', second, { change: 'patched', fields: ['deleted_at'] }]
      ])
    })

    it('is not found by one who is not an owner and wants to restore it, and stays removed', async () => {
      const carol = await world.user(`carol-${database.name}`)
      await made(alice.rest.del(`/messages/${second}`))
      for (const person of [bob, carol, world.root])
        for (const door of await open(world.url, person.token)) {
          const [answer, absent] = [
            await door.call(`messages/${second}/restore`, 'create', {}),
            await door.call(`messages/${absentId()}/restore`, 'create', {})
          ]
          expect([answer.status, codeOf(answer)], person.name).to.deep.equal([404, 'not_found'])
          expect(withoutIds(answer)).to.deep.equal(withoutIds(absent))
        }
      expect((await transcript()).map(({ seq }) => seq)).to.deep.equal([1, 3])
      expect(await counts()).to.deep.equal([2, 3])
      // The same call by an owner is not refused, so it was the right that was missing.
      expect((await restore()).status).to.equal(201)
    })

    it('is the only one that can be restored: a live one and a restored one are 404, and a body with fields is 400', async () => {
      expect((await restore()).status).to.equal(404)
      await made(alice.rest.del(`/messages/${second}`))
      expect((await alice.rest.post(`/messages/${second}/restore`, { content: 'other' })).status).to.equal(400)
      expect((await restore()).status).to.equal(201)
      expect((await restore()).status).to.equal(404)
      expect(await counts()).to.deep.equal([3, 3])
    })

    it(`comes back once of ${AT_ONCE} restores at once, and goes once of ${AT_ONCE} removals: message_count follows, ${ROUNDS} times`, async () => {
      const before = await transcript()
      for (let round = 0; round < ROUNDS; round++) {
        const removals = await Promise.all(Array.from({ length: AT_ONCE }, () => alice.rest.del(`/messages/${second}`)))
        expect(removals.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(AT_ONCE - 1).fill(404)])
        expect(await counts()).to.deep.equal([2, 3])
        const restores = await Promise.all(Array.from({ length: AT_ONCE }, () => restore()))
        expect(restores.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(AT_ONCE - 1).fill(404)])
        expect(await counts()).to.deep.equal([3, 3])
      }
      expect((await transcript()).map(({ seq, content }) => [seq, content])).to.deep.equal(
        before.map(({ seq, content }) => [seq, content])
      )
    })
  })
})
