import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Answer } from '../support/client.js'
import { eachStore, rows } from '../support/stores.js'
import { made } from '../support/world.js'
import { setTheScene, type SweepScene } from './sweep-scene.js'

const ROUNDS = 24

describe('a sweep at the same moment as something else', () => {
  eachStore((kind) => {
    let scene: SweepScene
    let worktree: string

    before(async () => {
      scene = await setTheScene(kind)
    })

    beforeEach(async () => {
      worktree = await scene.world.worktree(scene.alice)
    })

    afterEach(() => made(scene.alice.rest.del(`/worktrees/${worktree}`)))

    const firsts = {
      task: (session_id: string) => scene.alice.rest.post('/tasks', { session_id, prompt: 'first' }),
      message: (session_id: string) => scene.alice.rest.post('/messages', { session_id, role: 'user', content: 'first' })
    }
    for (const what of ['task', 'message'] as const) {
      it(`the first ${what} of a session: accepted and there, or refused and the session gone, ${ROUNDS} times`, async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const session_id = await scene.empty(worktree)
          // Both orders, and everything between.
          const [sweepLater, firstLater] = [Math.max(0, round - ROUNDS / 2), Math.max(0, ROUNDS / 2 - round)]
          const [, answer] = await Promise.all([
            sleep(sweepLater).then(() => scene.sweep(false)),
            sleep(firstLater).then(() => firsts[what](session_id))
          ])
          expect(answer.status, `round ${round}`).to.be.oneOf([201, 404])
          const isThere = (await scene.sessions()).includes(session_id)
          expect(isThere, `the session, when the ${what} was answered ${answer.status}`).to.equal(answer.status === 201)
          if (!isThere) continue
          const record = String(answer.body[`${what}_id`])
          expect((await scene.alice.rest.get(`/${what}s/${record}`)).status, `the ${what}`).to.equal(200)
        }
      })

      it(`a ${what} that is written but not yet committed when the sweep comes is waited for, and its session kept`, async () => {
        const session_id = await scene.empty(worktree)
        const writer = scene.store.connect()
        await rows(writer, kind.name === 'SQLite' ? 'BEGIN IMMEDIATE' : 'BEGIN')
        await rows(writer, scene.insertOf(what, session_id))
        const sweeping = scene.sweep(false)
        await sleep(400)
        await rows(writer, 'COMMIT')
        expect((await sweeping).removed).to.deep.equal([])
        expect(await scene.run(`SELECT session_id FROM ${what}s WHERE session_id = ?`, session_id)).to.have.lengthOf(1)
        expect(await scene.sessions()).to.include(session_id)
      })
    }

    const kept: Record<string, (session_id: string) => Promise<Answer>> = {
      pinned: (session_id) => scene.alice.rest.patch(`/sessions/${session_id}`, { pinned: true }),
      forked: (session_id) => scene.alice.rest.post(`/sessions/${session_id}/fork`, { at_seq: 0 }),
      'given a child': (session_id) =>
        scene.alice.rest.post('/sessions', { worktree_id: worktree, parent_session_id: session_id })
    }
    for (const [what, keep] of Object.entries(kept)) {
      it(`a session that is ${what} at the same moment: done and there, or swept and refused, ${ROUNDS} times`, async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const session_id = await scene.empty(worktree)
          const [, { status }] = await Promise.all([scene.sweep(false), sleep(round / 4).then(() => keep(session_id))])
          expect([status, (await scene.sessions()).includes(session_id)]).to.be.deep.oneOf([
            [200, true],
            [201, true],
            [404, false]
          ])
        }
      })
    }

    it('several sweeps at once remove each session once, with one row in the journal', async () => {
      for (let round = 0; round < 5; round += 1) {
        const sessions = await scene.manyEmpty(worktree, 12)
        const mark = await scene.world.journalEnd()
        const reports = await Promise.all([1, 2, 3].map(() => scene.sweep(false)))
        const removed = reports.flatMap((report) => report.removed.map(({ session_id }) => session_id))
        expect(removed.sort()).to.deep.equal(sessions)
        const entries = await scene.world.journalSince(mark)
        expect(
          entries
            .filter(({ effect }) => effect?.['change'] === 'removed')
            .map(({ resource }) => resource.id)
            .sort()
        ).to.deep.equal(sessions)
        const inVain = reports.filter((report) => report.removed.length === 0).length
        expect(entries).to.have.lengthOf(sessions.length + inVain)
      }
    })

    it('an admin who is demoted while they sweep removes nothing more', async () => {
      const dora = await scene.world.user('dora', 'admin')
      for (let round = 0; round < 4; round += 1) {
        await scene.manyEmpty(worktree, 60)
        const mark = await scene.world.journalEnd()
        const [{ status }] = await Promise.all([
          dora.rest.post('/sweeps', { dry_run: false }),
          sleep(10 + 10 * round).then(() => made(scene.world.root.rest.patch(`/users/${dora.user_id}`, { role: 'member' })))
        ])
        expect(status).to.be.oneOf([201, 403])
        const entries = await scene.world.journalSince(mark)
        const demotion = entries.findIndex(({ action }) => action === 'users.patch')
        const later = entries.slice(demotion + 1).filter(({ effect }) => effect?.['change'] === 'removed')
        expect(later).to.deep.equal([])
        await made(scene.world.root.rest.patch(`/users/${dora.user_id}`, { role: 'admin' }))
      }
    })
  })
})
