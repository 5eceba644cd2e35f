import { expect } from 'chai'
import { client, type Body } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { eachStore, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import {
  answered,
  calls,
  contentsOf,
  expectSound,
  historyOf,
  results,
  said,
  seqsOf,
  tokenOf,
  type History
} from './history-scene.js'

const SETTINGS = {
  title: 'the source',
  agent: 'an agent',
  model: 'a model',
  settings: { thinking: 'deep', tool_policy: { a: [1] } },
  tools: ['look', 'write']
}

describe('fork', () => {
  eachStore((kind) => {
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

    const at = (session_id: string): History => historyOf(client(daemon.url, alice.token), session_id)

    const session = async (...messages: (string | Body)[]): Promise<History> => {
      const rest = client(daemon.url, alice.token)
      const history = at(text(await made(rest.post('/sessions', { worktree_id, pinned: true, ...SETTINGS })), 'session_id'))
      if (messages.length) await history.say(...messages)
      return history
    }

    const forked = async (source: History, at_seq: number, more: Body = {}): Promise<History> =>
      at(text(await made(source.fork(at_seq, more)), 'session_id'))

    /** Three turns, of which the last is being worked on. */
    const running = async (): Promise<History> => {
      const history = await session(said('one'), answered('first'), said('two'), calls('a'), results('a'), answered('second'))
      const task = await made(history.rest.post('/tasks', { session_id: history.session_id, prompt: 'three' }))
      await made(history.rest.patch(`/tasks/${text(task, 'task_id')}`, { status: 'running' }))
      await history.say(...[said('three'), calls('b')].map((message) => ({ ...message, task_id: task['task_id'] })))
      expect((await history.record())['status']).to.equal('running')
      return history
    }

    it('E10: of a running session at 7 ends at a complete turn, with its own ids, and keeps what the session was set to', async () => {
      const source = await running()
      const [before, rows] = [await source.record(), await source.transcript()]
      const { status, body } = await source.fork(7)
      const child = at(text(body, 'session_id'))
      expect(status).to.equal(201)
      expect(body).to.deep.equal(await child.record())
      expect(body).to.deep.include({
        ...SETTINGS,
        title: body['title'],
        worktree_id,
        forked_from: { session_id: source.session_id, seq: 6 },
        pinned: false,
        status: 'idle',
        message_count: 6,
        last_seq: 6,
        boundary_seq: 0,
        version: 1,
        created_by: alice.user_id
      })
      expect(body['title']).to.be.a('string').that.includes('the source').and.not.equal('the source')
      const copies = await expectSound(child)
      const kept = ({ role, content, metadata, created_at, created_by, tokens_estimated, preview }: Body) => ({
        role,
        content,
        metadata,
        created_at,
        created_by,
        tokens_estimated,
        preview
      })
      expect(copies.map(kept)).to.deep.equal(rows.slice(0, 6).map(kept))
      expect(seqsOf(copies)).to.deep.equal([1, 2, 3, 4, 5, 6])
      for (const copy of copies)
        expect(copy).to.deep.include({ session_id: child.session_id, task_id: null, client_message_id: null, revision: 1 })
      const ids = [...rows, ...copies].map(({ message_id }) => message_id)
      expect(new Set(ids).size).to.equal(14)
      expect([await source.record(), await source.transcript()]).to.deep.equal([before, rows])
    })

    it('E10: of a running session goes back to the end of the last complete turn, wherever it is asked for', async () => {
      const source = await running()
      for (const [at_seq, end] of [
        [0, 0],
        [1, 0],
        [2, 2],
        [3, 2],
        [4, 2],
        [5, 2],
        [6, 6],
        [7, 6],
        [8, 6],
        [99, 6]
      ] as const) {
        const child = await forked(source, at_seq)
        const { forked_from, message_count } = await child.record()
        expect([at_seq, forked_from, message_count]).to.deep.equal([at_seq, { session_id: source.session_id, seq: end }, end])
      }
      expect(await expectSound(source)).to.have.lengthOf(8)
    })

    it('E10: what is done to the child, and its end, leave the source byte for byte as it was', async () => {
      const source = await running()
      await made(source.rest.patch(`/messages/${text((await source.transcript())[1]!, 'message_id')}`, { content: 'edited' }))
      const bytes = async () => JSON.stringify([await source.record(), await source.transcript(), await source.removed()])
      const before = await bytes()
      const child = await forked(source, 6, { title: 'the child' })
      const copies = await child.transcript()
      expect([contentsOf(copies)[1], copies[1]!['revision']]).to.deep.equal(['edited', 1])
      for (const { message_id } of copies.slice(0, 3))
        await made(child.rest.patch(`/messages/${String(message_id)}`, { content: 'other' }))
      await made(child.rest.del(`/messages/${text(copies[1]!, 'message_id')}`))
      await made(
        child.rest.patch(`/sessions/${child.session_id}`, { settings: { thinking: null }, model: 'another', title: 'x' })
      )
      await child.say('goes on')
      await made(child.compact(1))
      await made(child.undo(tokenOf(await child.clear())))
      await expectSound(child)
      expect((await bytes()) === before).to.equal(true)
      await made(child.rest.del(`/sessions/${child.session_id}`))
      expect((await bytes()) === before).to.equal(true)
    })

    it('E10: works right after a restart, and the child outlives one, and its source', async () => {
      const source = await running()
      const before = await source.transcript()
      await daemon.kill()
      daemon = await store.start()
      const child = await forked(at(source.session_id), 7)
      expect(contentsOf(await expectSound(child))).to.deep.equal(contentsOf(before.slice(0, 6)))
      const record = await child.record()
      await daemon.kill()
      daemon = await store.start()
      expect(await at(child.session_id).record()).to.deep.equal(record)
      const [task] = (await made(at(source.session_id).rest.get(`/tasks?session_id=${source.session_id}`)))['data'] as Body[]
      await made(at(source.session_id).rest.patch(`/tasks/${text(task!, 'task_id')}`, { status: 'stopped' }))
      await made(at(source.session_id).rest.patch(`/sessions/${source.session_id}`, { pinned: false }))
      await made(at(source.session_id).rest.del(`/sessions/${source.session_id}`))
      expect(await expectSound(at(child.session_id))).to.have.lengthOf(6)
    })
  })
})
