import { expect } from 'chai'
import { codeOf, queryString, rowsOf, type Answer, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { answered, contentsOf, historyOf, numbered, said, tokenOf, type History } from './history-scene.js'

describe('a search', () => {
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

    const session = async (...messages: (string | Body)[]): Promise<History> => {
      const history = historyOf(alice!.rest, await world.session(alice!, worktree_id))
      if (messages.length) await history.say(...messages)
      return history
    }
    const search = (person: Person, words: string, query: Body = {}): Promise<Answer> =>
      person.rest.get(`/messages${queryString({ search: words, ...query })}`)
    const found = async (words: string, query: Body = {}, person = alice!): Promise<unknown[]> => {
      const answer = await search(person, words, query)
      expect([answer.status, answer.body['total']], words).to.deep.equal([200, rowsOf(answer).length])
      return contentsOf(rowsOf(answer))
    }

    it('finds an edited message by its new text and not by its old one', async () => {
      const { transcript, rest } = await session('walrus before', 'another walrus')
      const path = `/messages/${text((await transcript())[0]!, 'message_id')}`
      await made(rest.patch(path, { content: [{ type: 'text', text: 'penguin after' }] }))
      expect([await found('walrus'), (await found('penguin')).length]).to.deep.equal([['another walrus'], 1])
      await made(rest.patch(path, { content: 'walrus again' }))
      expect([await found('walrus'), await found('penguin')]).to.deep.equal([['another walrus', 'walrus again'], []])
      await made(rest.patch(path, { metadata: { penguin: 'penguin' } }))
      expect(await found('penguin')).to.deep.equal([])
      await made(rest.patch(path, { content: null }))
      expect(await found('walrus')).to.deep.equal(['another walrus'])
    })

    it('does not find what was removed, and finds it again when it is restored', async () => {
      const history = await session('giraffe one', 'giraffe two', 'giraffe three')
      const [one] = await history.transcript()
      const path = `/messages/${text(one!, 'message_id')}`
      await made(history.rest.del(path))
      expect(await found('giraffe')).to.deep.equal(['giraffe three', 'giraffe two'])
      const undo_token = tokenOf(await history.clear())
      expect(await found('giraffe')).to.deep.equal([])
      await made(history.rest.post(`${path}/restore`))
      expect(await found('giraffe')).to.deep.equal(['giraffe one'])
      await made(history.undo(undo_token))
      expect(await found('giraffe')).to.deep.equal(['giraffe three', 'giraffe two', 'giraffe one'])
    })

    it('finds what was compacted and the summary, and the copies of a fork', async () => {
      const history = await session('zebra one', 'zebra two')
      await made(history.compact(0, { summary: 'of zebra' }))
      expect(await found('zebra')).to.deep.equal(['of zebra', 'zebra two', 'zebra one'])
      const { session_id } = await made(history.fork(1))
      expect(await found('zebra', { session_id })).to.deep.equal(['zebra one'])
      await made(history.rest.del(`/sessions/${history.session_id}`))
      expect(await found('zebra')).to.deep.equal(['zebra one'])
    })

    it('finds nothing of a session that was deleted', async () => {
      const history = await session('hippo', answered('hippo'))
      await session('hippo elsewhere')
      expect(await found('hippo')).to.have.lengthOf(3)
      await made(history.rest.del(`/sessions/${history.session_id}`))
      expect(await found('hippo')).to.deep.equal(['hippo elsewhere'])
      expect(await found('hippo', { session_id: history.session_id })).to.deep.equal([])
    })

    it('D3: finds only what the caller may see: another’s are not found, not counted, and not by naming their session', async () => {
      const secret = await session('okapi of alice')
      const shared = await world.worktree(alice!)
      const visible = historyOf(alice!.rest, await world.session(alice!, shared))
      await visible.say('okapi for both')
      const own = historyOf(bob!.rest, await world.session(bob!, await world.worktree(bob!)))
      await own.say('okapi of bob')
      expect(await found('okapi', {}, bob)).to.deep.equal(['okapi of bob'])
      const grant_id = await world.grant(alice!, shared, bob!, 'view')
      expect(await found('okapi', {}, bob)).to.deep.equal(['okapi of bob', 'okapi for both'])
      expect(await found('okapi')).to.deep.equal(['okapi for both', 'okapi of alice'])
      const widening: Body[] = [
        { session_id: secret.session_id },
        { session_id: { $in: [secret.session_id] } },
        { created_by: alice!.user_id, session_id: secret.session_id },
        { $or: [{ session_id: secret.session_id }] }
      ]
      for (const query of widening) expect(await found('okapi', query, bob), JSON.stringify(query)).to.deep.equal([])
      expect((await search(bob!, 'okapi', { $limit: 0 })).body['total']).to.equal(2)
      const [, socket] = await open(world.url, bob!.token)
      const over = await socket!.call('messages', 'find', { query: { search: 'okapi', $sort: { created_at: 1 } } })
      expect([over.body['total'], contentsOf(rowsOf(over))]).to.deep.equal([2, ['okapi for both', 'okapi of bob']])
      await made(alice!.rest.del(`/grants/${grant_id}`))
      expect(await found('okapi', {}, bob)).to.deep.equal(['okapi of bob'])
    })

    it('D7: with a task token finds what is in its session and nothing else of its user', async () => {
      const [history] = [await session('tapir here'), await session('tapir there')]
      const token = await world.taskToken(alice!, await world.task(alice!, history.session_id))
      for (const door of await open(world.url, token)) {
        const answer = await door.call('messages', 'find', { query: { search: 'tapir' } })
        if (answer.status === 403) expect(codeOf(answer)).to.equal('token_scope')
        else expect(contentsOf(rowsOf(answer))).to.deep.equal(['tapir here'])
        const within = await door.call('messages', 'find', { query: { search: 'tapir', session_id: history.session_id } })
        expect(contentsOf(rowsOf(within))).to.deep.equal(['tapir here'])
      }
    })

    it('goes with the other filters, with pages, with an order and with the fields that one wants', async () => {
      const { session_id } = await session(
        ...[1, 2, 3, 4, 5, 6].map((nth) => (nth % 2 ? said(`lemur ${nth}`) : answered(`lemur ${nth}`))),
        'no such animal'
      )
      await session('lemur elsewhere')
      const place = { session_id }
      expect(await found('lemur')).to.have.lengthOf(7)
      expect(await found('lemur', place)).to.deep.equal([6, 5, 4, 3, 2, 1].map((nth) => `lemur ${nth}`))
      expect(await found('lemur', { ...place, role: 'assistant' })).to.deep.equal(['lemur 6', 'lemur 4', 'lemur 2'])
      expect(await found('lemur', { ...place, $sort: { seq: 1 } })).to.deep.equal([1, 2, 3, 4, 5, 6].map((nth) => `lemur ${nth}`))
      expect(await found('lemur', { ...place, after_seq: 4 })).to.have.members(['lemur 6', 'lemur 5'])
      expect(await found('lemur 3', { ...place, created_by: alice!.user_id })).to.deep.equal(['lemur 3'])
      const page = await search(alice!, 'lemur', { ...place, $limit: 2, $skip: 1 })
      expect([page.body['total'], page.body['limit'], page.body['skip']]).to.deep.equal([6, 2, 1])
      expect(contentsOf(rowsOf(page))).to.deep.equal(['lemur 5', 'lemur 4'])
      const counted = await search(alice!, 'lemur', { ...place, $limit: 0 })
      expect([counted.body['total'], rowsOf(counted)]).to.deep.equal([6, []])
      const chosen = rowsOf(await search(alice!, 'lemur', { ...place, $select: ['seq', 'role'] }))
      expect(chosen.map(({ seq }) => seq)).to.deep.equal([6, 5, 4, 3, 2, 1])
      for (const row of chosen) expect(Object.keys(row)).to.include.members(['seq', 'role']).and.not.include('content')
      for (const row of rowsOf(await search(alice!, 'lemur', place)))
        expect(text(row, 'snippet')).to.include('<mark>lemur</mark>')
      for (const row of rowsOf(await alice!.rest.get(`/messages?session_id=${session_id}`)))
        expect(row).not.to.have.property('snippet')
    })

    it('counts up to a thousand', async () => {
      const history = await session(...numbered(500))
      await history.say(...numbered(500, 501))
      await history.say(...numbered(5, 1001))
      const { body } = await search(alice!, 'message', { session_id: history.session_id, $limit: 3 })
      expect([body['total'], contentsOf(body['data'])]).to.deep.equal([1000, ['message 1005', 'message 1004', 'message 1003']])
    })

    it('finds what was written before the answer to the write came, and never half of a list, however many write', async () => {
      const histories = await Promise.all(Array.from({ length: 4 }, () => session()))
      await Promise.all(
        histories.map(async (history, writer) => {
          for (let nth = 0; nth < 10; nth++) {
            await history.say(`badger w${writer}n${nth}`, `badger w${writer}n${nth}`)
            expect(await found(`badger w${writer}n${nth}`)).to.have.lengthOf(2)
            expect((await search(alice!, 'badger', { $limit: 0 })).body['total']).to.satisfy((total: number) => total % 2 === 0)
          }
        })
      )
      expect((await search(alice!, 'badger')).body['total']).to.equal(80)
    })
  })
})
