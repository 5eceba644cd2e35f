import { expect } from 'chai'
import { codeOf, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { detailsOf, doorKeeper } from '../support/doors.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

const ROUNDS = 20

describe('patches', () => {
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

    it('B4: a stale version is refused with the current one, 412 over REST and 409 on a socket, and changes nothing', async () => {
      await made(alice.rest.patch(path, { title: 'second' }))
      const before = await stored()
      const [, socket] = await open(world.url, alice.token)
      const answers = [
        await alice.rest.patch(path, { title: 'stale' }, { 'if-match': '"1"' }),
        await alice.rest.patch(path, { title: 'not yet' }, { 'if-match': '"3"' }),
        await alice.rest.del(path, undefined, { 'if-match': '"1"' }),
        await socket!.call('sessions', 'patch', session_id, { title: 'stale' }, { query: { $version: 1 } })
      ]
      expect(answers.map(({ status }) => status)).to.deep.equal([412, 412, 412, 409])
      expect(answers.map(codeOf)).to.deep.equal(Array(4).fill('version_conflict'))
      expect(answers.map((answer) => detailsOf(answer)['current_version'])).to.deep.equal([2, 2, 2, 2])
      expect(await stored()).to.deep.equal(before)
      expect((await alice.rest.patch(path, { title: 'third' }, { 'if-match': '"2"' })).body['version']).to.equal(3)
      expect(
        (await socket!.call('sessions', 'patch', session_id, { title: 'fourth' }, { query: { $version: 3 } })).body['version']
      ).to.equal(4)
    })

    it('B4: an If-Match that is no version is 400, and never read as no condition', async () => {
      const before = await stored()
      for (const header of ['""', '"x"', '"1", "2"', '"-1"', '"1.5"', '"0"', '"01"', '"99999999999999999999"'])
        expect((await alice.rest.patch(path, { title: 'x' }, { 'if-match': header })).status, header).to.be.oneOf([400, 412])
      expect(await stored()).to.deep.equal(before)
      expect((await alice.rest.patch(path, { title: 'any' }, { 'if-match': '*' })).status).to.equal(200)
    })

    for (const service of ['sessions', 'messages', 'tasks', 'worktrees', 'grants', 'users'] as const)
      it(`B3: of two patches of ${service} with the same version exactly one wins`, async () => {
        const { record, fields } = await patchable(world, alice, session_id, service)
        for (let round = 0; round < ROUNDS; round++) {
          const { version } = await made(alice.rest.get(record))
          const headers = { 'if-match': `"${String(version)}"` }
          const answers = await Promise.all(
            [fields(`a${round}`), fields(`b${round}`)].map((patch) => alice.rest.patch(record, patch, headers))
          )
          expect(answers.map(({ status }) => status).sort(), `round ${round}`).to.deep.equal([200, 412])
          const winner = answers.find(({ status }) => status === 200)!
          const now = await made(alice.rest.get(record))
          expect([now['version'], now]).to.deep.equal([Number(version) + 1, winner.body])
        }
      })

    it('B1: patches of different fields at once both survive, and count two versions', async () => {
      const [, socket] = await open(world.url, alice.token)
      for (let round = 0; round < ROUNDS; round++) {
        const { version } = await stored()
        const patches: Body[] = [{ model: `m${round}` }, { title: `t${round}` }]
        await Promise.all([
          made(alice.rest.patch(path, patches[0])),
          made(socket!.call('sessions', 'patch', session_id, patches[1]))
        ])
        const now = await stored()
        expect([now['model'], now['title'], now['version']]).to.deep.equal([`m${round}`, `t${round}`, Number(version) + 2])
      }
    })

    it('B2: different keys of settings at once all survive; null removes a key and leaves the others', async () => {
      const [, socket] = await open(world.url, alice.token)
      for (let round = 0; round < ROUNDS; round++) {
        const values: Body = { tool_policy: { round }, thinking: `deep ${round}`, 'a.b': [round], 'a-b_c': false, zero: 0 }
        await Promise.all(
          Object.entries(values).map(([key, value], index) =>
            made(
              index % 2
                ? socket!.call('sessions', 'patch', session_id, { settings: { [key]: value } })
                : alice.rest.patch(path, { settings: { [key]: value } })
            )
          )
        )
        expect((await stored())['settings']).to.deep.equal(values)
        await Promise.all([
          made(alice.rest.patch(path, { settings: { zero: null } })),
          made(alice.rest.patch(path, { settings: { thinking: null } }))
        ])
        const { zero: _zero, thinking: _thinking, ...rest } = values
        expect((await stored())['settings']).to.deep.equal(rest)
      }
    })
  })
})

interface Patchable {
  record: string
  fields(value: string): Body
}

async function patchable(world: World, alice: Person, session_id: string, service: string): Promise<Patchable> {
  const { worktree_id } = await made(alice.rest.get(`/sessions/${session_id}`))
  switch (service) {
    case 'messages':
      return { record: `/messages/${await world.message(alice, session_id)}`, fields: (content) => ({ content }) }
    case 'tasks':
      return { record: `/tasks/${await world.task(alice, session_id)}`, fields: (because) => ({ because }) }
    case 'worktrees':
      return { record: `/worktrees/${String(worktree_id)}`, fields: (name) => ({ name }) }
    case 'grants':
      return {
        record: `/grants/${await world.grant(alice, String(worktree_id), world.root, 'view')}`,
        fields: (reason) => ({ reason })
      }
    case 'users':
      return { record: `/users/${alice.user_id}`, fields: (name) => ({ name }) }
    default:
      return { record: `/sessions/${session_id}`, fields: (title) => ({ title }) }
  }
}
