import { expect } from 'chai'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { appendList } from './export-scene.js'

/** Much more than what lies in buffers between the daemon and a reader that does not read. */
const LISTS = 60
const LIST = { length: 50 }
const LENGTH = 20_000

describe('an export that is being read slowly', function () {
  this.timeout(120_000)

  eachDatabase((database) => {
    let world: World
    let [alice, bob]: Person[] = []
    let worktree_id: string
    let session_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
      worktree_id = await world.worktree(alice)
      session_id = await world.session(alice, worktree_id)
      const message = { session_id, role: 'user', content: 'x'.repeat(LENGTH) }
      for (let count = 0; count < LISTS; count += 1)
        await appendList(
          alice,
          Array.from(LIST, () => message)
        )
    })

    it('is whole when nothing happens meanwhile', async () => {
      expect(await readAll(await begin(world.url, alice!, session_id))).to.equal('ended')
    })

    it('breaks off when the reader loses the right to read it', async () => {
      const grant_id = await world.grant(alice!, worktree_id, bob!, 'view')
      const answer = await begin(world.url, bob!, session_id)
      await made(alice!.rest.del(`/grants/${grant_id}`))
      expect(await readAll(answer)).to.equal('broken off')
    })

    it('breaks off when the session is removed: what is short never looks whole', async () => {
      const fork = text(
        await made(alice!.rest.post(`/sessions/${session_id}/fork`, { at_seq: LISTS * LIST.length })),
        'session_id'
      )
      const answer = await begin(world.url, alice!, fork)
      await made(alice!.rest.del(`/sessions/${fork}`))
      expect(await readAll(answer)).to.equal('broken off')
    })
  })
})

/** The answer has begun, and nobody reads it. */
async function begin(url: string, { token }: Person, session_id: string): Promise<IncomingMessage> {
  const request = get(`${url}/sessions/${session_id}/export`, { headers: { authorization: `Bearer ${token}` } })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  expect(answer.statusCode).to.equal(200)
  return answer
}

async function readAll(answer: IncomingMessage): Promise<'ended' | 'broken off'> {
  try {
    for await (const chunk of answer) void chunk
    return 'ended'
  } catch {
    return 'broken off'
  }
}
