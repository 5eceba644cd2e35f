import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { client, codeOf, rowsOf, type Body, type Client } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { eachStore, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const TURNS = 50

describe('two sessions of one agent', function () {
  this.timeout(120_000)

  eachStore((kind) => {
    let store: Store
    let daemon: Daemon
    let world: World
    let alice: Person
    let rest: Client
    let s: Talk
    let t: Talk

    before(async () => {
      store = await kind.make()
      daemon = await store.start()
      world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      rest = alice.rest
      const worktree_id = await world.worktree(alice)
      const talk = async (): Promise<Talk> => {
        const fields = { worktree_id, agent: 'one agent', model: 'm0', title: 'a talk' }
        // Letters and digits only, so that it is one word of a search.
        const secret = `secret${randomBytes(6).toString('hex')}`
        return { session_id: text(await made(rest.post('/sessions', fields)), 'session_id'), secret }
      }
      ;[s, t] = [await talk(), await talk()]
      for (let nth = 0; nth < TURNS; nth++) await Promise.all([turnOf(rest, s, nth), turnOf(rest, t, nth)])
    })

    /** Everything that S gives out has its own secret, and never that of T. */
    const expectApart = (what: string, told: unknown): void => {
      const everything = typeof told === 'string' ? told : JSON.stringify(told)
      expect(everything.includes(s.secret), `${what} has its own secret`).to.equal(true)
      expect(everything.includes(t.secret), `${what} has the secret of the other session`).to.equal(false)
    }
    const contextOf = (session_id: string) => made(rest.get(`/sessions/${session_id}/context`))

    it('D8: the context of one never has the secret of the other', async () => {
      const context = await contextOf(s.session_id)
      expectApart('the context', context)
      expect([context['message_count'], context['session_id']]).to.deep.equal([2 * TURNS, s.session_id])
      expectApart('all of it', await made(rest.get(`/sessions/${s.session_id}/context?include=compacted`)))
      expectApart('the tasks', await made(rest.get(`/tasks?session_id=${s.session_id}&$limit=200`)))
    })

    it('D8: its export, as JSON and as text, and its search never have it either', async () => {
      for (const format of ['json', 'md'])
        expectApart(format, await made(rest.get(`/sessions/${s.session_id}/export?format=${format}`)))
      const search = async (words: string) =>
        rowsOf(await rest.get(`/messages?search=${words}&session_id=${s.session_id}&$limit=200`))
      const found = await search('shared')
      expectApart('a search', found)
      expect(found).to.have.lengthOf(2 * TURNS)
      expect(await search(t.secret)).to.deep.equal([])
      expect(await search(`${t.secret.slice(0, 10)}*`)).to.deep.equal([])
      const everywhere = rowsOf(await rest.get(`/messages?search=${t.secret}&$limit=200`))
      expect(new Set(everywhere.map(({ session_id }) => session_id))).to.deep.equal(new Set([t.session_id]))
    })

    it('D8: its fork has its own secret only, and writing there changes neither', async () => {
      const before = [await contextOf(s.session_id), await contextOf(t.session_id)]
      const fork = await made(rest.post(`/sessions/${s.session_id}/fork`, { at_seq: 2 * TURNS }))
      const forked = text(fork, 'session_id')
      expectApart('the fork', await contextOf(forked))
      expectApart('the messages of the fork', await made(rest.get(`/messages?session_id=${forked}&$limit=200`)))
      await turnOf(rest, { session_id: forked, secret: s.secret }, TURNS)
      expect([await contextOf(s.session_id), await contextOf(t.session_id)]).to.deep.equal(before)
    })

    it('D8: after a compaction and a change of the model its context still has its own alone, and the other session is as it was', async () => {
      const other = await contextOf(t.session_id)
      const { last_seq } = await contextOf(s.session_id)
      const summary = `what was shared before, ${s.secret}`
      await made(rest.post(`/sessions/${s.session_id}/compact`, { summary, keep_last: 4, last_seq }))
      await made(rest.patch(`/sessions/${s.session_id}`, { model: 'm1' }))
      const context = await contextOf(s.session_id)
      expectApart('the compacted context', context)
      expect([context['message_count'], (context['messages'] as Body[])[0]!['content']]).to.deep.equal([5, summary])
      expect(await contextOf(t.session_id)).to.deep.equal(other)
      await Promise.all([turnOf(rest, s, TURNS + 1), turnOf(rest, t, TURNS + 1)])
      expectApart('the next turn', await contextOf(s.session_id))
      const { model } = await made(rest.get(`/sessions/${t.session_id}`))
      expect(model).to.equal('m0')
    })

    it('D8: a token of its task does not reach the other session', async () => {
      const token = await world.taskToken(alice, await world.task(alice, s.session_id))
      const agent = client(world.url, token)
      expectApart('the context', await made(agent.get(`/sessions/${s.session_id}/context`)))
      for (const path of ['context', 'export']) {
        const answer = await agent.get(`/sessions/${t.session_id}/${path}`)
        expect([answer.status, codeOf(answer)], path).to.deep.equal([403, 'token_scope'])
        expect(JSON.stringify(answer.body)).not.to.contain(t.secret)
      }
      expectApart('all messages', await made(agent.get('/messages?$limit=200')))
      expect(rowsOf(await agent.get(`/messages?search=${t.secret}`))).to.deep.equal([])
    })

    it('D8: after a kill and a restart all of it is the same', async () => {
      const paths = [s, t].flatMap(({ session_id }) => [`/sessions/${session_id}`, `/sessions/${session_id}/context`])
      const read = () => Promise.all(paths.map((path) => made(rest.get(path))))
      const before = await read()
      await daemon.kill()
      daemon = await store.start()
      rest = client(daemon.url, alice.token)
      expect(await read()).to.deep.equal(before)
      await Promise.all([turnOf(rest, s, TURNS + 2), turnOf(rest, t, TURNS + 2)])
      expectApart('the context', await contextOf(s.session_id))
      const fork = await made(rest.post(`/sessions/${s.session_id}/fork`, { at_seq: 1_000 }))
      expectApart('a fork', await contextOf(text(fork, 'session_id')))
    })
  })
})

interface Talk {
  session_id: string
  secret: string
}

/** A task, its prompt and its answer, each with the secret of the session. */
async function turnOf(rest: Client, { session_id, secret }: Talk, nth: number): Promise<void> {
  const prompt = `shared ${nth} ${secret}`
  const task_id = text(await made(rest.post('/tasks', { session_id, prompt })), 'task_id')
  await made(rest.patch(`/tasks/${task_id}`, { status: 'running' }))
  await made(rest.post('/messages', { session_id, task_id, role: 'user', content: prompt }))
  const content = [{ type: 'text', text: `the shared answer ${nth} to ${secret}` }]
  await made(rest.post('/messages', { session_id, task_id, role: 'assistant', content }))
  await made(rest.patch(`/tasks/${task_id}`, { status: 'completed', usage: { nth } }))
}
