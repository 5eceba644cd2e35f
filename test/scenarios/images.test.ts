import { expect } from 'chai'
import { client, type Body, type Client } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { eachStore, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person } from '../support/world.js'

const images: Body[][] = [
  [
    { type: 'text', text: 'by its address' },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png?x=1&y=%20#z', detail: 'high' } }
  ],
  [{ type: 'image', source: { type: 'url', url: 'https://example.com/b.png' }, cache_control: { type: 'ephemeral' } }],
  [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }],
  [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
  // Nothing of this can be shown; what comes later must not suffer from it.
  [{ type: 'image_url', image_url: null }],
  [{ type: 'image', source: { type: 'url', url: 'https://nowhere.invalid/gone.png' } }],
  [{ type: 'tool_result', tool_use_id: 'none', content: [{ type: 'image', source: { type: 'file', file_id: 'file_2' } }] }]
]

describe('an image by reference', () => {
  eachStore((kind) => {
    let store: Store
    let daemon: Daemon
    let alice: Person
    let rest: Client
    let session_id: string

    before(async () => {
      store = await kind.make()
      daemon = await store.start()
      const world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      rest = alice.rest
      session_id = await world.session(alice, await world.worktree(alice))
      for (const content of images) await made(rest.post('/messages', { session_id, role: 'user', content }))
    })

    /** The contents as text: the order of keys counts too. */
    const contextOf = async (id = session_id) =>
      ((await made(rest.get(`/sessions/${id}/context`)))['messages'] as Body[]).map(({ content }) => JSON.stringify(content))
    const expected = images.map((content) => JSON.stringify(content))

    it('F4: is in the context as it was stored, and after a kill and a restart too', async () => {
      expect(await contextOf()).to.deep.equal(expected)
      await daemon.kill()
      daemon = await store.start()
      rest = client(daemon.url, alice.token)
      expect(await contextOf()).to.deep.equal(expected)
    })

    it('F4: is in the context of a fork, and after a compaction among those that were kept', async () => {
      const fork = text(await made(rest.post(`/sessions/${session_id}/fork`, { at_seq: images.length })), 'session_id')
      expect(await contextOf(fork)).to.deep.equal(expected)
      await made(rest.post(`/sessions/${fork}/compact`, { summary: 'images', keep_last: 3 }))
      expect(await contextOf(fork)).to.deep.equal([JSON.stringify('images'), ...expected.slice(-3)])
    })

    it('F4: that cannot be shown does not stop later messages, tasks and the context', async () => {
      const task = await made(rest.post('/tasks', { session_id, prompt: 'look at it' }))
      await made(rest.patch(`/tasks/${text(task, 'task_id')}`, { status: 'running' }))
      await made(rest.post('/messages', { session_id, role: 'assistant', content: 'I see' }))
      await made(rest.patch(`/tasks/${text(task, 'task_id')}`, { status: 'completed' }))
      expect(await contextOf()).to.deep.equal([...expected, JSON.stringify('I see')])
      for (const format of ['json', 'md'])
        expect((await rest.get(`/sessions/${session_id}/export?format=${format}`)).status).to.equal(200)
    })
  })
})
