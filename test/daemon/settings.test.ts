import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { client } from '../support/client.js'
import { WITH_ADMIN } from '../support/daemon.js'
import { READY, refusedStart, spawnDaemon } from '../support/daemon-process.js'
import { makeDirectory, removeDirectory } from '../support/directories.js'
import { made, text } from '../support/world.js'

describe('the settings of a daemon', () => {
  let home: string

  beforeEach(async () => {
    home = await makeDirectory()
  })

  afterEach(() => removeDirectory(home))

  const expectRefused = async (settings: Record<string, string>, says: RegExp[]): Promise<string> => {
    const { code, stdout, stderr } = await refusedStart({ STOA_HOME: home, ...settings })
    expect(code).to.equal(1)
    expect(stdout).not.to.match(READY)
    for (const part of says) expect(stderr).to.match(part)
    return stderr
  }

  const wrong: [setting: string, value: string, fix: RegExp][] = [
    ['STOA_PROT', '4747', /remove it, or use one of .*STOA_PORT/],
    ['STOA_PORT', 'http', /whole number from 0 to 65535/],
    ['STOA_PORT', '65536', /whole number from 0 to 65535/],
    ['STOA_PORT', '-1', /whole number from 0 to 65535/],
    ['STOA_EXECUTORS', 'two', /whole number from 0 to/],
    ['STOA_EMPTY_SESSION_GUARD_S', '1.5', /whole number/],
    ['STOA_SWEEP_EVERY_S', 'daily', /whole number from 0 to/],
    ['STOA_DATABASE_URL', 'mysql://localhost/stoa', /must start with postgres:\/\//],
    ['STOA_ADMIN_EMAIL', 'root@example.com', /STOA_ADMIN_PASSWORD.*set both or none/],
    ['STOA_ADMIN_PASSWORD', 'a long password', /STOA_ADMIN_EMAIL.*set both or none/],
    ['STOA_REPO_ROOTS', 'relative/path', /absolute/],
    ['STOA_LOG_LEVEL', 'loud', /one of .*info/]
  ]
  for (const [setting, value, fix] of wrong) {
    it(`${setting}=${value}: it does not start, names the setting and says what to do, without a stack`, async () => {
      expect(await expectRefused({ [setting]: value }, [new RegExp(setting), fix])).not.to.match(/^\s+at /m)
    })
  }

  it('an admin with a bad e-mail address or a short password: it does not start and does not repeat the password', async () => {
    await expectRefused({ ...WITH_ADMIN, STOA_ADMIN_EMAIL: 'root' }, [/STOA_ADMIN_EMAIL must be an e-mail address/])
    expect(
      await expectRefused({ ...WITH_ADMIN, STOA_ADMIN_PASSWORD: 'sh0rt!' }, [/STOA_ADMIN_PASSWORD must have 8 to 256 characters/])
    ).not.to.contain('sh0rt!')
  })

  it('a port that is taken: it does not start and names the setting', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    try {
      await expectRefused({ ...WITH_ADMIN, STOA_PORT: String(port) }, [/in use/, new RegExp(String(port)), /STOA_PORT/])
    } finally {
      other.close()
    }
  })

  it('a PostgreSQL that is not there: it does not start and names the setting, without the password', async () => {
    const said = await expectRefused({ ...WITH_ADMIN, STOA_DATABASE_URL: 'postgres://stoa:pg-secret@127.0.0.1:1/stoa' }, [
      /STOA_DATABASE_URL/
    ])
    expect(said).not.to.contain('pg-secret')
  })

  it('the secret is made on the first start, readable by its owner only, and kept by the next', async () => {
    const secretAfterStart = async () => {
      const daemon = spawnDaemon({ STOA_HOME: home, ...WITH_ADMIN })
      await daemon.says(READY)
      daemon.signal('SIGKILL')
      await daemon.ended
      return readFile(join(home, 'secret'), 'utf8')
    }
    const first = await secretAfterStart()
    expect(first).to.have.length.of.at.least(32)
    expect((await stat(join(home, 'secret'))).mode & 0o777).to.equal(0o600)
    expect(await secretAfterStart()).to.equal(first)
  })

  it('a secret that is too short stops the start and says what to do', async () => {
    await writeFile(join(home, 'secret'), 'short')
    await expectRefused(WITH_ADMIN, [/secret in STOA_HOME is too short: remove it/])
  })

  it('an address that others can reach is refused while the admin has a generated password', async () => {
    await expectRefused({ STOA_HOST: '0.0.0.0' }, [/STOA_HOST is 0\.0\.0\.0/, /generated password/, /STOA_ADMIN_PASSWORD/])
    await expectRefused({ STOA_HOST: '0.0.0.0' }, [/generated password/])
  })

  it('once the generated password was changed, through the printed link that works once, the address is taken', async () => {
    const first = spawnDaemon({ STOA_HOME: home })
    const [, url] = await first.says(READY)
    const [, token] = await first.says(/#sign-in=(\S+)/)
    const signIn = () => client(url!).post('/authentication', { strategy: 'one-time', token })
    const { accessToken, user } = await made(signIn())
    expect((await signIn()).status).to.equal(401)
    await made(
      client(url!, String(accessToken)).patch(`/users/${text(user as Record<string, unknown>, 'user_id')}`, {
        password: 'chosen by a person'
      })
    )
    first.signal('SIGTERM')
    expect(await first.ended).to.equal(0)

    // Still loopback, so that nobody else can reach the test; to the daemon it is an address like any other.
    const second = spawnDaemon({ STOA_HOME: home, STOA_HOST: '127.0.0.2' })
    const [, , host] = await second.says(READY)
    second.signal('SIGKILL')
    await second.ended
    expect(host).to.equal('127.0.0.2')
  })

  it('an admin whose password was given may be reached from the first start on', async () => {
    const daemon = spawnDaemon({ STOA_HOME: home, ...WITH_ADMIN, STOA_HOST: '127.0.0.2' })
    expect((await daemon.says(READY))[2]).to.equal('127.0.0.2')
    daemon.signal('SIGKILL')
    await daemon.ended
  })
})
