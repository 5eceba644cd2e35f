import { expect } from 'chai'
import { client, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { doorKeeper } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const APPENDS = 100
const PATCHES = 20

describe('the version of a session', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let alice: Person
    let session_id: string
    let path: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
    })

    beforeEach(async () => {
      session_id = await world.session(alice, await world.worktree(alice))
      path = `/sessions/${session_id}`
    })

    const stored = () => made(alice.rest.get(path))

    /** An If-Match made before `work` holds after it, and nothing that a person set has changed. */
    const expectStillHolds = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      const before = await stored()
      const ours = ({ title, model, settings, tools, version, created_at }: Body) => ({
        title,
        model,
        settings,
        tools,
        version,
        created_at
      })
      await work()
      expect(ours(await stored()), what).to.deep.equal(ours(before))
      const title = `after ${what}`
      const patched = await alice.rest.patch(path, { title }, { 'if-match': `"${String(before['version'])}"` })
      expect([patched.status, patched.body['title']], what).to.deep.equal([200, title])
    }

    it('is not changed by writing, editing and removing messages: an If-Match made before still holds', async () => {
      const message = (content: string) => ({ session_id, role: 'user', content })
      let message_id = ''
      await expectStillHolds('a message', async () => (message_id = await world.message(alice, session_id)))
      await expectStillHolds('a list', () => made(alice.rest.post('/messages', [message('a'), message('b'), message('c')])))
      await expectStillHolds('an edit', () => made(alice.rest.patch(`/messages/${message_id}`, { content: 'edited' })))
      await expectStillHolds('metadata', () => made(alice.rest.patch(`/messages/${message_id}`, { metadata: { a: 1 } })))
      await expectStillHolds('a removal', () => made(alice.rest.del(`/messages/${message_id}`)))
      await expectStillHolds('a refused list', async () =>
        expect((await alice.rest.post('/messages', [message('a'), { ...message('b'), role: 'nobody' }])).status).to.equal(400)
      )
      const { message_count, last_seq } = await stored()
      expect([message_count, last_seq]).to.deep.equal([3, 4])
    })

    it('is not changed by tasks: made, given a token, reported with usage and status by anyone, ended, removed', async () => {
      let task_id = ''
      await expectStillHolds('a task', async () => (task_id = await world.task(alice, session_id)))
      let token = ''
      await expectStillHolds('a token', async () => (token = await world.taskToken(alice, task_id)))
      const executor = client(world.url, token)
      const report = (fields: Body) => () => made(executor.patch(`/tasks/${task_id}`, fields))
      await expectStillHolds('the start', report({ status: 'running' }))
      expect((await stored())['status']).to.equal('running')
      await expectStillHolds('usage', report({ usage: { tokens: 1 }, observed_model: 'm' }))
      await expectStillHolds('usage of a person', () => made(alice.rest.patch(`/tasks/${task_id}`, { usage: { tokens: 2 } })))
      await expectStillHolds('its output', () =>
        made(executor.post('/messages', { session_id, task_id, role: 'assistant', content: 'done' }))
      )
      await expectStillHolds('the end', report({ status: 'completed', exit_code: 0 }))
      expect((await stored())['status']).to.equal('idle')
      await expectStillHolds('its removal', () => made(alice.rest.del(`/tasks/${task_id}`)))
    })

    it(`is not changed by ${APPENDS} appends at once: patches with If-Match meanwhile all succeed, and so do the appends`, async () => {
      const [, socket] = await open(world.url, alice.token)
      const task_id = await world.task(alice, session_id)
      await made(alice.rest.patch(`/tasks/${task_id}`, { status: 'running' }))
      let version = Number((await stored())['version'])
      const appends = Promise.all(
        Array.from({ length: APPENDS }, (_, index) =>
          made(
            (index % 2 ? alice.rest : socket!).call('messages', 'create', {
              session_id,
              role: 'user',
              content: `append ${index}`
            })
          )
        )
      )
      const reports = (async () => {
        for (let count = 1; count <= PATCHES; count++) await made(alice.rest.patch(`/tasks/${task_id}`, { usage: { count } }))
      })()
      const patches = (async () => {
        for (let round = 0; round < PATCHES; round++) {
          const answer = await alice.rest.patch(path, { title: `t${round}` }, { 'if-match': `"${version}"` })
          expect([answer.status, answer.body['version']], JSON.stringify(answer.body)).to.deep.equal([200, ++version])
        }
      })()
      const [written] = await Promise.all([appends, patches, reports])
      expect(new Set(written.map((message) => text(message, 'message_id'))).size).to.equal(APPENDS)
      expect(written.map(({ seq }) => Number(seq)).sort((a, b) => a - b)).to.deep.equal(
        Array.from({ length: APPENDS }, (_, index) => index + 1)
      )
      const now = await stored()
      expect([now['version'], now['message_count'], now['last_seq']]).to.deep.equal([version, APPENDS, APPENDS])
    })
  })
})
