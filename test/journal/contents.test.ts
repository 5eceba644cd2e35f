import { expect } from 'chai'
import { client, rowsOf, type Answer, type Body } from '../support/client.js'
import { eachStore, rows, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('what the journal keeps of a request', () => {
  eachStore((kind) => {
    let store: Store
    let world: World
    let alice: Person
    let bob: Person
    let worktree_id: string

    before(async () => {
      store = await kind.make()
      world = await buildWorld((await store.start()).url)
      ;[alice, bob] = [await world.user('alice'), await world.user('bob')]
      worktree_id = await world.worktree(alice)
    })

    /** The effect of the one row that a call leaves. */
    const effectOf = async (call: () => Promise<Answer>): Promise<Body> => {
      const mark = await world.journalEnd()
      await made(call())
      const found = (await world.journalSince(mark)) as unknown as { kind: string; effect: Body }[]
      expect(found.map((row) => row.kind)).to.deep.equal(['access_change'])
      return found[0]!.effect
    }

    it('a grant that is given, changed and taken away: the level before and after, and whose it is', async () => {
      const grant = (level: string | null) => ({ user_id: bob.user_id, level })
      const find = () => alice.rest.get(`/grants?worktree_id=${worktree_id}&user_id=${bob.user_id}`)
      expect(
        await effectOf(() => alice.rest.post('/grants', { worktree_id, user_id: bob.user_id, level: 'view' }))
      ).to.deep.include({ change: 'created', before: grant(null), after: grant('view') })
      const grant_id = text(rowsOf(await find())[0]!, 'grant_id')
      expect(await effectOf(() => alice.rest.patch(`/grants/${grant_id}`, { level: 'all' }))).to.deep.include({
        change: 'patched',
        before: grant('view'),
        after: grant('all')
      })
      expect(await effectOf(() => alice.rest.del(`/grants/${grant_id}`))).to.deep.include({
        change: 'removed',
        before: grant('all'),
        after: grant(null)
      })
    })

    it('a role that is changed and a user who is deactivated: the role and the flag before and after', async () => {
      const carol = await world.user('carol')
      expect(await effectOf(() => world.root.rest.patch(`/users/${carol.user_id}`, { role: 'viewer' }))).to.deep.equal({
        change: 'patched',
        fields: ['role'],
        before: { role: 'member', active: true },
        after: { role: 'viewer', active: true }
      })
      expect(await effectOf(() => world.root.rest.patch(`/users/${carol.user_id}`, { active: false }))).to.deep.equal({
        change: 'patched',
        fields: ['active'],
        before: { role: 'viewer', active: true },
        after: { role: 'viewer', active: false }
      })
    })

    it('others_can that is changed: what it was and what it is', async () => {
      expect(await effectOf(() => alice.rest.patch(`/worktrees/${worktree_id}`, { others_can: 'prompt' }))).to.deep.equal({
        change: 'patched',
        fields: ['others_can'],
        before: { others_can: 'none' },
        after: { others_can: 'prompt' }
      })
    })

    it('the names of the fields, and nothing of what was written into them, of an allowed request or a refused one', async () => {
      const canary = 'canary-in-the-journal'
      const session = await made(
        alice.rest.post('/sessions', {
          worktree_id,
          title: canary,
          model: canary,
          agent: canary,
          settings: { [canary]: canary },
          tools: [canary]
        })
      )
      const session_id = text(session, 'session_id')
      const task = await made(
        alice.rest.post('/tasks', { session_id, prompt: canary, requested_model: canary, client_task_id: canary })
      )
      const calls = [
        alice.rest.patch(`/sessions/${session_id}`, { title: canary, settings: { [canary]: canary } }),
        bob.rest.patch(`/sessions/${session_id}`, { title: canary }),
        alice.rest.patch(`/tasks/${text(task, 'task_id')}`, {
          because: canary,
          error: { code: canary, message: canary },
          usage: { [canary]: 1 }
        }),
        alice.rest.post('/tasks', { session_id, prompt: `${canary} again`, client_task_id: canary }),
        alice.rest.post('/messages', {
          session_id,
          role: 'user',
          content: canary,
          metadata: { [canary]: canary },
          client_message_id: canary
        }),
        alice.rest.post(`/sessions/${session_id}/fork`, { at_seq: 0, title: canary }),
        alice.rest.get(`/messages?search=${canary}`),
        alice.rest.get(`/messages?search=${canary}&session_id=${session_id}`),
        alice.rest.get(`/sessions/${session_id}/context`),
        alice.rest.get(`/sessions/${session_id}/export?format=md`),
        alice.rest.post('/worktrees', { name: canary }),
        alice.rest.post('/api-keys', { name: canary }),
        alice.rest.patch(`/users/${alice.user_id}`, { name: canary }),
        alice.rest.get(`/sessions?title=${canary}`),
        alice.rest.get(`/sessions/${session_id}`, { 'user-agent': canary, 'x-request-id': canary, cookie: canary }),
        client(world.url, `stoa_pat_${canary}`).get('/sessions'),
        client(world.url).post('/authentication', { strategy: 'local', email: `${canary}@example.com`, password: canary })
      ]
      const statuses = (await Promise.all(calls)).map(({ status }) => status)
      expect(statuses).to.deep.equal([200, 403, 200, 409, 201, 201, 200, 200, 200, 200, 201, 201, 200, 200, 200, 401, 401])
      await made(alice.rest.post(`/sessions/${session_id}/compact`, { summary: canary, keep_last: 0 }))
      const kept = await rows(store.connect(), 'SELECT * FROM journal')
      expect(kept.filter((row) => JSON.stringify(row).includes(canary))).to.deep.equal([])
      const [created] = kept.filter((row) => row['action'] === 'sessions.create')
      expect(JSON.parse(String(created!['effect']))).to.deep.equal({
        change: 'created',
        fields: ['worktree_id', 'title', 'model', 'agent', 'settings', 'tools']
      })
    })
  })
})
