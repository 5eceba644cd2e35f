import { expect } from 'chai'
import { client, codeOf, rowsOf, type Body } from '../support/client.js'
import type { Daemon } from '../support/daemon.js'
import { eachStore, rows, type Store } from '../support/stores.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'
import { contentsOf, expectSound, historyOf, numbered, seqsOf, tokenOf, type History } from './history-scene.js'

const ROUNDS = 20
const HOUR = 3_600_000

describe('undo of what was truncated or cleared', () => {
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

    const rest = () => client(daemon.url, alice.token)

    const session = async (count = 5): Promise<History> => {
      const record = await made(rest().post('/sessions', { worktree_id, title: 'a session' }))
      const history = historyOf(rest(), text(record, 'session_id'))
      await history.say(...numbered(count))
      return history
    }

    const expectNone = async (history: History, undo_token: string) => {
      const answer = await history.undo(undo_token)
      expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'not_found'])
    }

    it('E12: what was cleared comes back after a kill -9, with what was written since; a second time is 404', async () => {
      const before = await session()
      const undo_token = tokenOf(await before.clear())
      await daemon.kill()
      daemon = await store.start()
      const history = historyOf(rest(), before.session_id)
      expect(await expectSound(history)).to.deep.equal([])
      await history.say('since', 'then')
      const { status, body } = await history.undo(undo_token)
      expect([status, body]).to.deep.equal([201, { restored: 5 }])
      const restored = await expectSound(history)
      expect([contentsOf(restored), seqsOf(restored)]).to.deep.equal([
        [...numbered(5), 'since', 'then'],
        [1, 2, 3, 4, 5, 6, 7]
      ])
      expect(await history.removed()).to.deep.equal([])
      await expectNone(history, undo_token)
      await daemon.kill()
      daemon = await store.start()
      await expectNone(historyOf(rest(), before.session_id), undo_token)
      expect(await expectSound(historyOf(rest(), before.session_id))).to.deep.equal(restored)
    })

    it('E12: the token of another session, of a session that is gone, and one that never was are 404 and change nothing', async () => {
      const [history, other, gone] = [await session(), await session(), await session()]
      const [cleared, truncated, lost] = [await history.clear(), await other.truncate(1), await gone.clear()]
      await expectNone(history, tokenOf(truncated))
      await expectNone(other, tokenOf(cleared))
      await made(rest().del(`/sessions/${gone.session_id}`))
      for (const place of [gone, history]) await expectNone(place, tokenOf(lost))
      await expectNone(history, `${tokenOf(cleared).slice(0, -1)}${tokenOf(cleared).endsWith('0') ? '1' : '0'}`)
      await expectNone(history, history.session_id)
      for (const bad of [5, null, undefined, {}, ['x']]) expect((await history.undo(bad)).status, String(bad)).to.equal(400)
      expect([(await expectSound(history)).length, (await expectSound(other)).length]).to.deep.equal([0, 1])
      expect([(await history.undo(tokenOf(cleared))).body, (await other.undo(tokenOf(truncated))).body]).to.deep.equal([
        { restored: 5 },
        { restored: 4 }
      ])
    })

    it('E12: a token is valid for 24 hours, and then 404', async () => {
      const history = await session()
      const truncated = await history.truncate(1)
      const expires = Date.parse(text(truncated.body, 'undo_expires_at'))
      expect((expires - Date.now()) / HOUR).to.be.within(23.9, 24.1)
      const connection = store.connect()
      for (const [moved, restored] of [
        [-25, false],
        [1, true]
      ] as const) {
        const at = new Date(Date.now() + moved * HOUR).toISOString()
        await rows(connection, 'UPDATE removals SET expires_at = ? WHERE session_id = ?', [at, history.session_id])
        if (restored) expect((await history.undo(tokenOf(truncated))).body).to.deep.equal({ restored: 4 })
        else await expectNone(history, tokenOf(truncated))
        expect(await expectSound(history)).to.have.lengthOf(restored ? 5 : 1)
      }
    })

    it('undo of a truncate brings back exactly what that one removed, in whichever order they are undone', async () => {
      const history = await session(6)
      const [removed] = (await history.transcript()).slice(4)
      await made(rest().del(`/messages/${text(removed!, 'message_id')}`))
      const first = tokenOf(await history.truncate(3))
      const second = tokenOf(await history.truncate(1))
      await history.say('since')
      const third = tokenOf(await history.clear())
      expect((await history.undo(first)).body).to.deep.equal({ restored: 2 })
      expect(seqsOf(await expectSound(history))).to.deep.equal([4, 6])
      expect((await history.undo(third)).body).to.deep.equal({ restored: 2 })
      expect(seqsOf(await expectSound(history))).to.deep.equal([1, 4, 6, 7])
      expect((await history.undo(second)).body).to.deep.equal({ restored: 2 })
      expect(seqsOf(await expectSound(history))).to.deep.equal([1, 2, 3, 4, 6, 7])
      expect(seqsOf(await history.removed())).to.deep.equal([5])
    })

    it('edits and revisions outlive truncate and undo', async () => {
      const history = await session(3)
      const [, second] = await history.transcript()
      const path = `/messages/${text(second!, 'message_id')}`
      for (const content of ['edited', [{ type: 'text', text: 'edited again' }]])
        await made(rest().patch(path, { content, metadata: { a: 1 } }))
      const state = async () => ({
        messages: (await expectSound(history)).map(lasting),
        revisions: rowsOf(await rest().get(`${path}/revisions`))
      })
      const before = await state()
      expect(before.revisions).to.have.lengthOf(3)
      const undo_token = tokenOf(await history.truncate(1))
      for (const gone of [path, `${path}/revisions`]) expect((await rest().get(gone)).status, gone).to.equal(404)
      expect((await rest().patch(path, { content: 'too late' })).status).to.equal(404)
      await made(history.undo(undo_token))
      expect(await state()).to.deep.equal(before)
    })

    it('a removed message that was restored by hand stays as it is when the rest is undone', async () => {
      const history = await session(4)
      const [, second] = await history.transcript()
      const undo_token = tokenOf(await history.truncate(1))
      await made(rest().post(`/messages/${text(second!, 'message_id')}/restore`))
      await made(rest().patch(`/messages/${text(second!, 'message_id')}`, { content: 'since edited' }))
      expect((await history.undo(undo_token)).body).to.deep.equal({ restored: 2 })
      expect(contentsOf(await expectSound(history))).to.deep.equal(['message 1', 'since edited', 'message 3', 'message 4'])
    })

    it(`of five undos at once exactly one restores, beside messages that are being written, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const history = await session(4)
        const undo_token = tokenOf(await history.clear())
        const [written, ...answers] = await Promise.all([
          history.say('a', 'b'),
          ...Array.from({ length: 5 }, () => history.undo(undo_token))
        ])
        expect(answers.map(({ status }) => status).sort(), `round ${round}`).to.deep.equal([201, 404, 404, 404, 404])
        expect(seqsOf(written)).to.deep.equal([5, 6])
        expect(seqsOf(await expectSound(history))).to.deep.equal([1, 2, 3, 4, 5, 6])
      }
    })
  })
})

/** What of a message must not change when it goes and comes back. */
function lasting({ updated_at: _at, version: _version, ...message }: Body): Body {
  return message
}
