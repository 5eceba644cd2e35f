import { expect } from 'chai'
import { client, codeOf } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { rawRequest } from '../support/raw-request.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, type Person, type World } from '../support/world.js'

describe('requests that are too much', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
    })

    afterEach('the daemon lives', async () => {
      expect((await client(world.url).get('/readyz')).status).to.equal(200)
    })

    it('more settings than a session has room for are 400', async () => {
      const session = await world.session(alice, await world.worktree(alice))
      const settings = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`key_${index}`, index]))
      const answer = await alice.rest.patch(`/sessions/${session}`, { settings })
      expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
    })

    it('a query with more values than a statement takes is 400', async () => {
      const door = await openSocket(world.url, alice.token)
      const ids = Array.from({ length: 500 }, (_, index) => `0190a5c4-0000-7000-8000-${String(index).padStart(12, '0')}`)
      const one = { session_id: { $in: ids, $nin: ids }, message_id: { $in: ids, $nin: ids } }
      const answer = await door.call('messages', 'find', { query: { $or: Array.from({ length: 50 }, () => one) } })
      door.close()
      expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
    })

    const bodies = {
      'an endless string of escaped quotes': `1234567890123456"${'\\"'.repeat(2_000_000)}`,
      'a number with a million zeros': `{"strategy":1.${'0'.repeat(1_000_000)}1}`,
      'a million numbers': `{"strategy":[${'1234567890123456,'.repeat(300_000)}1]}`
    }
    for (const [what, body] of Object.entries(bodies)) {
      it(`${what} from somebody who has not signed in is 400, and holds up nobody`, async () => {
        const headers = { 'content-type': 'application/json' }
        const answer = await rawRequest(world.url, 'POST', '/authentication', { headers, body })
        expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'invalid'])
      })
    }
  })
})
