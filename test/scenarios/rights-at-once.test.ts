import { expect } from 'chai'
import { client, rowsOf } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

const ROUNDS = 20

describe('changes of rights at the same moment', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let bob: Person

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
    })

    it(`of two owners who both leave at once one stays, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const worktree = await world.worktree(alice)
        const second = await world.grant(alice, worktree, bob, 'owner')
        const [first] = rowsOf(await alice.rest.get(`/grants?worktree_id=${worktree}&user_id=${alice.user_id}`))
        const answers = await Promise.all([
          alice.rest.del(`/grants/${String(first!['grant_id'])}`),
          bob.rest.del(`/grants/${second}`)
        ])
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409])
        const left = rowsOf(await world.root.rest.get(`/grants?worktree_id=${worktree}`))
        expect(left.map(({ level }) => level)).to.deep.equal(['owner'])
      }
    })

    it(`a sign-in with the old password does not outlive the change of the password, ${ROUNDS} times`, async () => {
      const carol = await world.user('carol')
      let password = carol.password
      for (let round = 0; round < ROUNDS; round += 1) {
        const next = `${carol.password} ${round}`
        const old = { strategy: 'local', email: carol.email, password }
        const [signedIn] = await Promise.all([
          client(world.url).post('/authentication', old),
          made(world.root.rest.patch(`/users/${carol.user_id}`, { password: next }))
        ])
        const token = signedIn.body['accessToken']
        if (typeof token === 'string') expect((await client(world.url, token).get('/users')).status).to.equal(401)
        else expect(signedIn.status).to.equal(401)
        password = next
      }
    })

    it('an admin who is demoted cannot give the role back to themself, however often they try', async () => {
      const dora = await world.user('dora', 'admin')
      for (let round = 0; round < ROUNDS; round += 1) {
        const mark = await world.journalEnd()
        await Promise.all([
          made(world.root.rest.patch(`/users/${dora.user_id}`, { role: 'member' })),
          ...[1, 2, 3].map(() => dora.rest.patch(`/users/${dora.user_id}`, { role: 'admin' }))
        ])
        const rows = (await world.journalSince(mark)).filter(({ action }) => action === 'users.patch')
        const demoted = rows.findIndex(({ actor_id }) => actor_id === world.root.user_id)
        const later = rows
          .slice(demoted + 1)
          .filter(({ actor_id, decision }) => actor_id === dora.user_id && decision === 'allow')
        expect(later).to.deep.equal([])
        await made(world.root.rest.patch(`/users/${dora.user_id}`, { role: 'admin' }))
      }
    })
  })
})
