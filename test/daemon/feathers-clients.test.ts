import authentication from '@feathersjs/authentication-client'
import { feathers, type Application } from '@feathersjs/feathers'
import rest from '@feathersjs/rest-client'
import socketio from '@feathersjs/socketio-client'
import { expect } from 'chai'
import { io } from 'socket.io-client'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.js'

/** An ordinary client app, as its documentation shows it; nothing in it knows of Stoa. */
interface Client {
  app: Application
  close(): void
}

const clients: Record<string, (url: string) => Client> = {
  'rest-client': (url) => {
    const app = feathers().configure(rest.default(url).fetch(fetch)).configure(authentication.default())
    return { app, close: () => undefined }
  },
  'socketio-client': (url) => {
    const socket = io(url, { transports: ['websocket'] })
    const app = feathers()
      .configure(socketio.default(socket as unknown as Parameters<typeof socketio.default>[0]))
      .configure(authentication.default())
    return { app, close: () => socket.close() }
  }
}

describe('the ordinary Feathers clients', () => {
  let daemon: Daemon

  before(async () => {
    daemon = await startDaemon()
  })

  after(() => daemon.stop())

  for (const [name, connect] of Object.entries(clients)) {
    it(`${name}: signs in, creates, finds, patches with a version, is refused with the catalogue's code, and signs out`, async () => {
      const { app, close } = connect(daemon.url)
      try {
        const { user } = await app.authenticate({ strategy: 'local', ...ADMIN })
        expect(user).to.include({ email: ADMIN.email, role: 'admin' })

        const worktree = await app.service('worktrees').create({ name })
        const session = await app.service('sessions').create({ worktree_id: worktree.worktree_id, title: 'one' })
        expect(await app.service('sessions').get(session.session_id)).to.deep.equal(session)
        expect(
          await app.service('sessions').find({ query: { worktree_id: worktree.worktree_id, $select: ['session_id', 'title'] } })
        ).to.deep.include({
          total: 1,
          data: [{ session_id: session.session_id, title: 'one' }]
        })

        const patched = await app.service('sessions').patch(session.session_id, { title: 'two' }, { query: { $version: 1 } })
        expect(patched).to.include({ title: 'two', version: 2 })
        const stale = await failureOf(
          app.service('sessions').patch(session.session_id, { title: 'three' }, { query: { $version: 1 } })
        )
        expect(stale.data).to.include({ code: 'version_conflict', current_version: 2 })

        await app.logout()
        expect((await failureOf(app.service('sessions').find())).data).to.include({ code: 'not_authenticated' })
      } finally {
        close()
      }
    })
  }
})

async function failureOf(call: Promise<unknown>): Promise<{ data: Record<string, unknown> }> {
  return call.then(
    () => expect.fail('it was not refused'),
    (error: { data: Record<string, unknown> }) => error
  )
}
