import { setTimeout as sleep } from 'node:timers/promises'
import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { eachStore } from '../support/stores.js'
import { GUARD, setTheScene, type SweepScene } from '../scenarios/sweep-scene.js'

describe('the schedule of sweeps', () => {
  eachStore((kind) => {
    /** A scene with one empty session that is old enough, and one that is not. */
    const start = async (every?: string): Promise<{ scene: SweepScene; old: string; young: string; worktree: string }> => {
      const scene = await setTheScene(kind, { STOA_SWEEP_EVERY_S: every })
      const worktree = await scene.world.worktree(scene.alice)
      const young = await scene.world.session(scene.alice, worktree)
      return { scene, young, old: await scene.empty(worktree), worktree }
    }

    const ofSchedule = async ({ world }: SweepScene): Promise<JournalRecord[]> =>
      (await world.journalSince(0)).filter(({ action }) => action === 'sweeps.create')

    it('is off unless it is set: nothing is swept, and nothing is in the journal', async () => {
      const { scene, old, young } = await start()
      await sleep(1_500)
      expect(await scene.sessions()).to.deep.equal([young, old].sort())
      expect(await ofSchedule(scene)).to.deep.equal([])
      await scene.daemon.stop()
    })

    it('sweeps at each interval, as nobody but itself in the journal, and ends with the daemon', async () => {
      const { scene, old, young, worktree } = await start('1')
      await until(async () => !(await scene.sessions()).includes(old))
      expect(await scene.sessions()).to.deep.equal([young])
      const again = await scene.empty(worktree)
      await until(async () => !(await scene.sessions()).includes(again))

      const rows = await ofSchedule(scene)
      for (const row of rows)
        expect(row).to.deep.include({
          kind: 'system',
          decision: 'allow',
          actor_id: null,
          actor: { system: 'sweep' },
          credential: null,
          transport: 'internal'
        })
      const removed = rows.filter(({ effect }) => effect?.['change'] === 'removed')
      expect(
        removed.map(({ resource, session_id, worktree_id }) => [resource.type, resource.id, session_id, worktree_id])
      ).to.deep.equal([old, again].map((id) => ['session', id, id, worktree]))
      // The other runs found nothing: one row each.
      for (const { effect } of rows.filter((row) => !removed.includes(row)))
        expect(effect).to.deep.equal({ change: 'listed', count: 0 })
      await scene.daemon.stop()
    })

    it('a run that fails is in the log, removes nothing, and the next one does its work', async () => {
      const { scene, worktree } = await start('1')
      const session_id = await scene.empty(worktree, 10)
      await scene.run('ALTER TABLE journal RENAME TO journal_away')
      await scene.age(session_id, GUARD * 100)
      await until(async () => (await scene.daemon.log()).includes('the sweep failed'))
      expect(await scene.sessions()).to.include(session_id)
      await scene.run('ALTER TABLE journal_away RENAME TO journal')
      await until(async () => !(await scene.sessions()).includes(session_id))
      await scene.daemon.stop()
    })
  })
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await sleep(50)) if (await holds()) return
  throw new Error('it did not come to that within 20 s')
}
