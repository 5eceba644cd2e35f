import { expect } from 'chai'
import { client, codeOf, type Answer } from '../support/client.js'
import { doorKeeper, withoutIds } from '../support/doors.js'
import { WITHOUT_ADMIN } from '../support/daemon.js'
import { eachDatabase, type StoringDaemon } from '../support/databases.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('signing in', () => {
  eachDatabase((database) => {
    const open = doorKeeper()

    describe('with a password', () => {
      let world: World
      let bob: Person

      before(async () => {
        world = await buildWorld((await database.start()).url)
        bob = await world.user('bob')
      })

      it('after ten wrong passwords an account is refused from that address, also with the right one; another account is not', async () => {
        const carol = await world.user('carol')
        const wrong = await attempts(world.url, carol.email, 10)
        expect(wrong.map(({ status }) => status)).to.deep.equal(Array(10).fill(401))
        for (const password of ['wrong again', carol.password]) {
          const answer = await signIn(world.url, carol.email, password)
          expect([answer.status, codeOf(answer)]).to.deep.equal([429, 'rate_limited'])
        }
        expect((await signIn(world.url, bob.email, bob.password)).status).to.equal(201)
        expect((await carol.rest.get('/sessions')).status, 'who is signed in stays so').to.equal(200)
      })

      it('spelling the address otherwise, a socket, or thirty attempts at once give no eleventh', async () => {
        const dave = await world.user('dave')
        const spellings = Array.from({ length: 30 }, (_, index) => (index % 2 ? dave.email : dave.email.toUpperCase()))
        const answers = await Promise.all(spellings.map((email) => signIn(world.url, email, 'wrong')))
        const statuses = answers.map(({ status }) => status).sort()
        expect(statuses).to.deep.equal([...Array(10).fill(401), ...Array(20).fill(429)])
        const [, socket] = await open(world.url)
        expect(
          (await socket!.call('authentication', 'create', { strategy: 'local', email: dave.email, password: dave.password }))
            .status
        ).to.equal(429)
      })

      it('a wrong password and an account that does not exist look the same, before and after the tenth', async () => {
        const erin = await world.user('erin')
        const [known, unknown] = [await attempts(world.url, erin.email, 11), await attempts(world.url, 'nobody@example.com', 11)]
        expect(known.map((answer) => [answer.status, withoutIds(answer)])).to.deep.equal(
          unknown.map((answer) => [answer.status, withoutIds(answer)])
        )
        expect(known.map(({ status }) => status)).to.deep.equal([...Array(10).fill(401), 429])
      })
    })

    describe('with the link of a first start without an admin', () => {
      let daemon: StoringDaemon

      before(async () => {
        daemon = await database.start(WITHOUT_ADMIN)
        await daemon.says(/#sign-in=\S+\n/)
      })

      const linkToken = () => /sign-in=(\S+)/.exec(daemon.said())![1]!
      const use = (token: string) => client(daemon.url).post('/authentication', { strategy: 'one-time', token })

      it('prints one link to this daemon, which is neither in the log nor in the database', async () => {
        const links = daemon.said().match(/http:\/\/\S+#sign-in=\S+/g)!
        expect(links).to.have.lengthOf(1)
        expect(links[0]).to.satisfy((link: string) => link.startsWith(`${daemon.url}/`))
        expect(new URL(links[0]!).search, 'a token in a fragment is not sent to servers and proxies').to.equal('')
        expect((await daemon.log()).includes(linkToken())).to.equal(false)
        expect((await daemon.stored()).includes(linkToken())).to.equal(false)
      })

      it('an altered link does not work, and does not use up the true one', async () => {
        for (const token of [`${linkToken()}x`, linkToken().slice(0, -1), linkToken().toUpperCase(), 'nonsense'])
          expect((await use(token)).status, token).to.equal(401)
      })

      it('the link is not a key for other calls', async () => {
        expect((await client(daemon.url, linkToken()).get('/users')).status).to.equal(401)
      })

      it('signs in as an admin exactly once, though ten try at the same time', async () => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => use(linkToken())))
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(9).fill(401)])
        const { body } = answers.find(({ status }) => status === 201)!
        const users = await made(client(daemon.url, text(body, 'accessToken')).get('/users'))
        expect((users['data'] as { role: string }[]).map(({ role }) => role)).to.deep.equal(['admin'])
        const again = await use(linkToken())
        expect([again.status, codeOf(again)]).to.deep.equal([401, 'not_authenticated'])
      })
    })
  })
})

async function attempts(url: string, email: string, count: number): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let index = 0; index < count; index++) answers.push(await signIn(url, email, `wrong ${index}`))
  return answers
}

function signIn(url: string, email: string, password: string): Promise<Answer> {
  return client(url).post('/authentication', { strategy: 'local', email, password })
}
