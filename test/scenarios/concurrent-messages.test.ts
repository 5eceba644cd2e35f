import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { appendThrough, expectAppended, oneTo, transcriptOf } from '../support/appending.js'
import { client, rowsOf, type Answer, type Body, type Door } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { openRawSocket } from '../support/raw-socket.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('messages of many at the same moment', function () {
  this.timeout(120_000)

  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let bob: Person

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
    })

    const session = async (owner: Person) => world.session(owner, await world.worktree(owner))
    const clients = (n: number, { token }: Person): Door[] => Array.from({ length: n }, () => client(world.url, token))
    const sockets = (n: number, { token }: Person): Promise<Door[]> =>
      Promise.all(Array.from({ length: n }, async () => (await open(world.url, token))[1]!))

    it('A1: 50 clients send 20 messages each into one session: all are there, numbered 1 to 1000, each client’s in its order', async () => {
      const session_id = await session(alice)
      await expectAppended(alice.rest, session_id, await appendThrough(clients(50, alice), session_id, 20))
    })

    it('A1: 10 sockets send 20 messages each into one session: all are there, numbered 1 to 200, each socket’s in its order', async () => {
      const session_id = await session(alice)
      await expectAppended(alice.rest, session_id, await appendThrough(await sockets(10, alice), session_id, 20))
    })

    it('A2: ten sessions of two users at once: each holds exactly its own messages, and no socket hears of a foreign one', async () => {
      const owners = Array.from({ length: 10 }, (_, index) => (index % 2 ? bob : alice))
      const sessions = await Promise.all(owners.map(session))
      const [toAlice, toBob] = [await listener(world.url, alice), await listener(world.url, bob)]
      const written = await Promise.all(
        owners.map(async (owner, index) => {
          const doors = [...clients(3, owner), ...(await sockets(2, owner))]
          return appendThrough(doors, sessions[index]!, 10)
        })
      )
      for (const [index, owner] of owners.entries()) await expectAppended(owner.rest, sessions[index]!, written[index]!)
      for (const [index, owner] of owners.entries()) await patchAndRemove(owner, written[index]!)

      const foreignTo = (person: Person) => sessions.filter((_, index) => owners[index] !== person)
      for (const [heard, person] of [
        [await toAlice.close(), alice],
        [await toBob.close(), bob]
      ] as const)
        expect(heard.filter((event) => foreignTo(person).some((session_id) => event.includes(session_id)))).to.deep.equal([])
    })

    it('A5: an answer is patched 40 times while 30 messages and 30 notes are posted: all are there, and no row changes its number', async () => {
      const session_id = await session(alice)
      const [rest, socket] = await open(world.url, alice.token)
      const answer = await made(alice.rest.post('/messages', { session_id, role: 'assistant', content: partial(0) }))
      const message_id = text(answer, 'message_id')
      const patches: Answer[] = []
      const posts: Answer[] = []
      const stream = async () => {
        for (const step of oneTo(40)) {
          patches.push(await rest!.call('messages', 'patch', message_id, { content: partial(step) }))
          await sleep(3)
        }
      }
      const post = async (door: Door, role: string) => {
        for (const index of oneTo(30)) {
          posts.push(await door.call('messages', 'create', { session_id, role, content: `${role} ${index}` }))
          await sleep(4)
        }
      }
      await Promise.all([stream(), post(rest!, 'user'), post(socket!, 'system')])

      expect([...patches, ...posts].map(({ status }) => status)).to.deep.equal([...Array(40).fill(200), ...Array(60).fill(201)])
      expect(new Set(patches.map(({ body }) => body['seq']))).to.deep.equal(new Set([1]))
      const found = await transcriptOf(alice.rest, session_id)
      expect(found.map(({ seq }) => seq)).to.deep.equal(oneTo(61))
      expect(found[0]).to.deep.equal(patches.at(-1)!.body)
      expect([found[0]!['content'], found[0]!['revision']]).to.deep.equal([partial(40), 41])
      const posted = posts.map(({ body }) => body).sort((a, b) => Number(a['seq']) - Number(b['seq']))
      expect(found.slice(1)).to.deep.equal(posted)
      for (const role of ['user', 'system'])
        expect(contentsOf(found.filter((message) => message['role'] === role))).to.deep.equal(
          oneTo(30).map((index) => `${role} ${index}`)
        )
      const revisions = rowsOf(await alice.rest.get(`/messages/${message_id}/revisions?$limit=200&$sort[revision]=1`))
      expect(contentsOf(revisions)).to.deep.equal([0, ...oneTo(40)].map(partial))
    })
  })
})

/** What a streamed answer says after so many steps. */
function partial(step: number): string {
  return oneTo(step).join(' ')
}

function contentsOf(messages: Body[]): unknown[] {
  return messages.map(({ content }) => content)
}

/** A socket that hears every event, whatever its name; closing it gives what it has heard, as text. */
async function listener(url: string, { token }: Person): Promise<{ close(): Promise<string[]> }> {
  const { socket, send, close } = await openRawSocket(url, token)
  const heard: string[] = []
  socket.onAny((name: string, ...args: unknown[]) => void heard.push(`${name} ${JSON.stringify(args)}`))
  return {
    close: async () => {
      // What was sent before this answer is here with it; the pause is for what is sent after the answer to its writer.
      await sleep(300)
      await send('find', 'sessions', { $limit: 1 })
      close()
      return heard
    }
  }
}

/** One message of each sender is edited and one is removed, so that there is more to hear of than what was created. */
async function patchAndRemove({ rest }: Person, written: Answer[][]): Promise<void> {
  for (const [first, second] of written) {
    await made(rest.patch(`/messages/${text(first!.body, 'message_id')}`, { content: 'edited' }))
    await made(rest.del(`/messages/${text(second!.body, 'message_id')}`))
  }
}
