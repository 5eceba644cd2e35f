import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { client, codeOf, type Body } from '../support/client.js'
import { doorKeeper } from '../support/doors.js'
import { eachStore } from '../support/stores.js'
import { made } from '../support/world.js'
import { setTheScene, type SweepScene } from './sweep-scene.js'

describe('who may sweep, and what the journal says of it', () => {
  eachStore((kind) => {
    const open = doorKeeper()
    let scene: SweepScene
    let worktree: string

    before(async () => {
      scene = await setTheScene(kind)
    })

    beforeEach(async () => {
      worktree = await scene.world.worktree(scene.alice)
    })

    afterEach(() => made(scene.alice.rest.del(`/worktrees/${worktree}`)))

    const rowsOf = async (act: () => Promise<unknown>): Promise<JournalRecord[]> => {
      const mark = await scene.world.journalEnd()
      await act()
      return scene.world.journalSince(mark)
    }

    it('each session that is removed has a row of its own, with the admin, the session and what was done', async () => {
      const sessions = [await scene.empty(worktree), await scene.empty(worktree)].sort()
      const rows = await rowsOf(() => scene.sweep(false))
      expect(rows.map(essence)).to.deep.equal(
        sessions.map((session_id) => ({
          kind: 'decision',
          decision: 'allow',
          reason_code: 'allowed',
          actor: { user_id: scene.world.root.user_id, role: 'admin' },
          action: 'sweeps.create',
          transport: 'rest',
          resource: { type: 'session', id: session_id, claimed: null, actual: null },
          worktree_id: worktree,
          session_id,
          effect: { change: 'removed' },
          version: 1
        }))
      )
    })

    it('a dry run, and a run that removes nothing, have one row that says how many it listed', async () => {
      await scene.empty(worktree)
      const look = (count: number) => ({ resource: 'daemon', id: null, effect: { change: 'listed', count } })
      const looks = async (act: () => Promise<unknown>) =>
        (await rowsOf(act)).map(({ resource, effect }) => ({ resource: resource.type, id: resource.id, effect }))
      expect(await looks(() => scene.sweep(true))).to.deep.equal([look(1)])
      await scene.sweep(false)
      expect(await looks(() => scene.sweep(true))).to.deep.equal([look(0)])
      expect(await looks(() => scene.sweep(false))).to.deep.equal([look(0)])
    })

    it('the answer names the row of its decision', async () => {
      await scene.empty(worktree)
      for (const dry_run of [true, false]) {
        const mark = await scene.world.journalEnd()
        const answer = await scene.world.root.rest.post('/sweeps', { dry_run })
        const [row] = await scene.world.journalSince(mark)
        expect([answer.status, answer.headers.get('x-decision-id')]).to.deep.equal([201, row!.id])
      }
    })

    it('members, viewers, task tokens and nobody are refused, over REST and a socket, with one row, and nothing is removed', async () => {
      const session_id = await scene.empty(worktree)
      const rootsTree = await scene.world.worktree(scene.world.root)
      const task_id = await scene.world.task(scene.world.root, await scene.world.session(scene.world.root, rootsTree))
      const callers: [token: string | undefined, status: number, code: string][] = [
        [scene.alice.token, 403, 'role_too_low'],
        [(await scene.world.user(`vera-${kind.name}`, 'viewer')).token, 403, 'role_too_low'],
        [await scene.world.taskToken(scene.world.root, task_id), 403, 'token_scope'],
        [undefined, 401, 'not_authenticated']
      ]
      for (const [token, status, code] of callers)
        for (const door of await open(scene.world.url, token)) {
          const rows = await rowsOf(async () => {
            const answer = await door.call('sweeps', 'create', { dry_run: false })
            expect([answer.status, codeOf(answer)], door.transport).to.deep.equal([status, code])
          })
          expect(rows.map(({ decision, reason_code, action }) => [decision, reason_code, action])).to.deep.equal([
            ['deny', code, 'sweeps.create']
          ])
        }
      expect(await scene.sessions()).to.include(session_id)
    })

    it('an admin sweeps over a socket as over REST', async () => {
      for (const door of await open(scene.world.url, scene.world.root.token)) {
        const session_id = await scene.empty(worktree)
        const { status, body } = await door.call('sweeps', 'create', { dry_run: false })
        expect([status, (body['removed'] as Body[]).map((removed) => removed['session_id'])]).to.deep.equal([201, [session_id]])
      }
    })

    it('anything but a truth value for dry_run, an unknown field, a list or a query is 400, and leaves no row', async () => {
      const session_id = await scene.empty(worktree)
      const { rest } = scene.world.root
      const rows = await rowsOf(async () => {
        for (const body of [{ dry_run: 'false' }, { dry_run: 0 }, { dry_run: null }, { apply: true }, [], [{ dry_run: false }]])
          expect((await rest.post('/sweeps', body)).status, JSON.stringify(body)).to.equal(400)
        expect((await rest.post(`/sweeps?worktree_id=${worktree}`, { dry_run: false })).status).to.equal(400)
        for (const answer of [await rest.get('/sweeps'), await rest.patch('/sweeps', {}), await rest.del('/sweeps')])
          expect([answer.status, codeOf(answer)]).to.deep.equal([405, 'method_not_allowed'])
      })
      expect(rows).to.deep.equal([])
      expect(await scene.sessions()).to.include(session_id)
    })

    it('no read removes anything, however old and empty a session is', async () => {
      const session_id = await scene.empty(worktree)
      for (const path of ['/sessions', `/sessions/${session_id}`, `/worktrees/${worktree}`, `/messages?session_id=${session_id}`])
        expect((await scene.alice.rest.get(path)).status).to.equal(200)
      for (const path of ['/livez', '/readyz', '/health', '/metrics'])
        expect((await client(scene.world.url).get(path)).status).to.equal(200)
      expect(await scene.sessions()).to.include(session_id)
    })
  })
})

function essence(row: JournalRecord): Body {
  const { kind, decision, reason_code, actor, action, transport, resource, worktree_id, session_id, effect, version } = row
  return { kind, decision, reason_code, actor, action, transport, resource, worktree_id, session_id, effect, version }
}
