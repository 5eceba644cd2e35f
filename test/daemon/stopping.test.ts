import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { WITH_ADMIN } from '../support/daemon.js'
import { READY, spawnDaemon, type DaemonProcess } from '../support/daemon-process.js'
import { openSocket } from '../support/socket.js'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { buildWorld } from '../support/world.js'

describe('a daemon that is told to stop', () => {
  let home: string
  const sockets: Socket[] = []

  beforeEach(async () => {
    home = await makeDirectory()
  })

  afterEach(async () => {
    sockets.splice(0).forEach((socket) => socket.destroy())
    await removeDirectory(home)
  })

  const start = async (): Promise<{ daemon: DaemonProcess; url: string }> => {
    const daemon = spawnDaemon({ STOA_HOME: home, ...WITH_ADMIN })
    const [, url] = await daemon.says(READY)
    return { daemon, url: url! }
  }

  /** A connection on which a test writes HTTP by hand. */
  const dial = async (url: string): Promise<{ socket: Socket; received: () => string }> => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
    await once(socket, 'connect')
    return { socket, received: () => received }
  }

  it('answers the request that is under way, takes no new one, and exits with 0', async () => {
    const { daemon, url } = await start()
    const world = await buildWorld(url)
    const session_id = await world.session(world.root, await world.worktree(world.root))
    const body = JSON.stringify({ session_id, role: 'user', content: 'sent in two halves' })
    const { socket, received } = await dial(url)
    const head = [
      'POST /messages HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${world.root.token}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 20)}`)
    // Another answer on another connection: by now the daemon has read the first half.
    await world.root.rest.get('/livez')

    daemon.signal('SIGTERM')
    await refuses(url)
    const closed = once(socket, 'close')
    socket.write(body.slice(20))
    await closed
    expect(received()).to.match(/^HTTP\/1\.1 201 /)
    expect(received()).to.contain('sent in two halves')
    expect(await daemon.ended).to.equal(0)
  })

  it('does not wait for an open socket or an idle connection, and exits with 0', async () => {
    const { daemon, url } = await start()
    const world = await buildWorld(url)
    const door = await openSocket(url, world.root.token)
    const { socket, received } = await dial(url)
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n')
    await once(socket, 'data')
    expect(received()).to.match(/^HTTP\/1\.1 200 /)
    expect(received()).not.to.match(/^connection: close/im)
    daemon.signal('SIGTERM')
    expect(await daemon.ended).to.equal(0)
    door.close()
  })

  it('exits with 0 also when it is told so as soon as it has said that it listens', async () => {
    const ends: (number | string)[] = []
    for (let round = 1; round <= 5; round += 1) {
      const { daemon } = await start()
      daemon.signal('SIGTERM')
      ends.push(await daemon.ended)
    }
    expect(ends).to.deep.equal([0, 0, 0, 0, 0])
  })

  it('a second SIGTERM does not cut the first short', async () => {
    const { daemon, url } = await start()
    const { socket, received } = await dial(url)
    socket.write('POST /authentication HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{')
    await buildWorld(url)
    daemon.signal('SIGTERM')
    await refuses(url)
    daemon.signal('SIGTERM')
    const closed = once(socket, 'close')
    socket.write('}')
    await closed
    expect(received()).to.match(/^HTTP\/1\.1 400 /)
    expect(await daemon.ended).to.equal(0)
  })
})

/** Waits until no new connection is taken. */
async function refuses(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  for (;;) {
    const probe = connect(Number(port), hostname)
    const taken = await Promise.race([once(probe, 'connect').then(() => true), once(probe, 'error').then(() => false)]).catch(
      () => false
    )
    probe.destroy()
    if (!taken) return
  }
}
