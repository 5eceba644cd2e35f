import { TASK_STATUSES } from '@stoa/core/domain/task-state'
import { expect } from 'chai'
import { eachStore } from '../support/stores.js'
import { made } from '../support/world.js'
import { GUARD, NONE_KEPT, setTheScene, type SweepScene } from './sweep-scene.js'

describe('the sweep of empty sessions', () => {
  eachStore((kind) => {
    let scene: SweepScene
    let worktree: string

    before(async () => {
      scene = await setTheScene(kind)
    })

    beforeEach(async () => {
      worktree = await scene.world.worktree(scene.alice)
    })

    // Its sessions go with it.
    afterEach(() => made(scene.alice.rest.del(`/worktrees/${worktree}`)))

    const ids = (list: { session_id: string }[]): string[] => list.map(({ session_id }) => session_id)

    it('G1: 100 sweeps while a session is younger than the guard never remove it, and then a prompt in it succeeds', async () => {
      const session_id = await scene.empty(worktree)
      for (let part = 0; part < 100; part += 1) {
        await scene.age(session_id, (GUARD * part) / 100)
        const { removed, kept } = await scene.sweep(false)
        expect([removed, kept], `${part} hundredths of the guard`).to.deep.equal([[], { ...NONE_KEPT, young: 1 }])
      }
      await scene.age(session_id, GUARD - 1)
      await scene.world.task(scene.alice, session_id)
      await scene.age(session_id, GUARD * 100)
      expect((await scene.sweep(false)).removed).to.deep.equal([])
    })

    it('G1: once it is older than the guard it is removed, and the report says which it was, without its title', async () => {
      const session_id = await scene.empty(worktree, GUARD + 1)
      const { created_at } = (await scene.alice.rest.get(`/sessions/${session_id}`)).body
      expect(await scene.sweep(false)).to.deep.equal({
        dry_run: false,
        guard_s: GUARD,
        removed: [{ session_id, worktree_id: worktree, created_at, created_by: scene.alice.user_id }],
        kept: NONE_KEPT,
        more: false
      })
      expect((await scene.alice.rest.get(`/sessions/${session_id}`)).status).to.equal(404)
    })

    it('G3: a session with a task is kept at any age, whatever the state of the task', async () => {
      const kept: string[] = []
      for (const status of TASK_STATUSES) {
        const session_id = await scene.empty(worktree)
        const task_id = await scene.world.task(scene.alice, session_id)
        await scene.run('UPDATE tasks SET status = ? WHERE task_id = ?', status, task_id)
        kept.push(session_id)
      }
      expect(await scene.sweep(false)).to.deep.include({ removed: [], kept: NONE_KEPT })
      expect(await scene.sessions()).to.deep.equal(kept.sort())
    })

    it('G3: the parent of a session, and one that was forked, are kept, also when what came of them is empty too', async () => {
      const [parent, forked] = [await scene.empty(worktree), await scene.empty(worktree)]
      const child = String(
        (await made(scene.alice.rest.post('/sessions', { worktree_id: worktree, parent_session_id: parent })))['session_id']
      )
      const fork = String((await made(scene.alice.rest.post(`/sessions/${forked}/fork`, { at_seq: 0 })))['session_id'])
      await scene.age(fork, GUARD * 100)
      const { removed, kept } = await scene.sweep(false)
      expect([ids(removed), kept]).to.deep.equal([[fork], { ...NONE_KEPT, with_children: 2, young: 1 }])
      expect(await scene.sessions()).to.deep.equal([parent, forked, child].sort())
    })

    it('G3: a pinned session is kept until it is unpinned', async () => {
      const session_id = await scene.empty(worktree)
      const pin = async (pinned: boolean) => {
        await made(scene.alice.rest.patch(`/sessions/${session_id}`, { pinned }))
        await scene.age(session_id, GUARD * 100)
      }
      await pin(true)
      expect(await scene.sweep(false)).to.deep.include({ removed: [], kept: { ...NONE_KEPT, pinned: 1 } })
      await pin(false)
      expect(ids((await scene.sweep(false)).removed)).to.deep.equal([session_id])
    })

    it('G3: rows count and not the counters: messages while they say 0, removed messages alone, and nothing while they say 9', async () => {
      const [written, removed, nothing] = [await scene.empty(worktree), await scene.empty(worktree), await scene.empty(worktree)]
      await scene.world.message(scene.alice, written)
      await made(scene.alice.rest.del(`/messages/${await scene.world.message(scene.alice, removed)}`))
      for (const [id, count] of [
        [written, 0],
        [removed, 0],
        [nothing, 9]
      ] as const)
        await scene.run('UPDATE sessions SET message_count = ?, last_seq = ? WHERE session_id = ?', count, count, id)
      const report = await scene.sweep(false)
      expect([ids(report.removed), report.kept]).to.deep.equal([[nothing], NONE_KEPT])
      expect(await scene.sessions()).to.deep.equal([written, removed].sort())
    })

    it('G4: a running session is kept at any age, and so is its parent, which the report says', async () => {
      const parent = await scene.empty(worktree)
      const child = { worktree_id: worktree, parent_session_id: parent }
      const running = String((await made(scene.alice.rest.post('/sessions', child)))['session_id'])
      await made(scene.alice.rest.patch(`/tasks/${await scene.world.task(scene.alice, running)}`, { status: 'running' }))
      await scene.age(running, GUARD * 1000)
      const idle = await scene.empty(worktree)
      const report = await scene.sweep(false)
      expect([ids(report.removed), report.kept]).to.deep.equal([[idle], { ...NONE_KEPT, with_children: 1 }])
      expect((await scene.alice.rest.get(`/sessions/${running}`)).body['status']).to.equal('running')
    })

    it('G4: one run ends after 500 and says that there are more; the next takes them', async () => {
      const all = await scene.manyEmpty(worktree, 501)
      for (const dry of [true, false]) {
        const { removed, more } = await scene.sweep(dry)
        expect([removed.length, more]).to.deep.equal([500, true])
      }
      const [left, ...others] = await scene.sessions()
      expect([all.includes(left!), others]).to.deep.equal([true, []])
      expect(await scene.sweep(false)).to.deep.include({ more: false, kept: NONE_KEPT })
      expect(await scene.sessions()).to.deep.equal([])
    })

    it('finds the empty ones among any number of sessions in use', async () => {
      const all = await scene.manyEmpty(worktree, 2_400)
      const empty = all.filter((_, index) => index > 1_200 && index % 24 === 0)
      await scene.run(`
        INSERT INTO tasks (task_id, session_id, prompt, status, created_at, updated_at)
        SELECT session_id, session_id, 'done', 'completed', created_at, created_at FROM sessions
        WHERE session_id NOT IN ('${empty.join("', '")}')`)
      const { removed, kept } = await scene.sweep(false)
      expect([ids(removed), kept]).to.deep.equal([empty, NONE_KEPT])
      expect(await scene.sessions()).to.deep.equal(all.filter((id) => !empty.includes(id)))
    })

    it('G5: the dry run lists exactly what the real run then removes, and changes nothing itself', async () => {
      const removable = [await scene.empty(worktree), await scene.empty(worktree), await scene.empty(worktree, GUARD + 1)]
      const inUse = await scene.empty(worktree)
      await scene.world.message(scene.alice, inUse)
      await scene.empty(worktree, 10)
      const before = await scene.sessions()
      const promised = await scene.sweep(true)
      expect(ids(promised.removed)).to.deep.equal(removable.sort())
      expect(await made(scene.world.root.rest.post('/sweeps', {})), 'a dry run unless told').to.deep.equal(promised)
      expect(await scene.sessions()).to.deep.equal(before)
      expect(await scene.sweep(false)).to.deep.equal({ ...promised, dry_run: false })
      expect(await scene.sessions()).to.deep.equal(before.filter((id) => !removable.includes(id)))
    })
  })
})
