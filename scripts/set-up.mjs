// Makes the tree ready to run: installs the packages and compiles the sources, each only when something it depends on
// has changed. Runs before start, test and bench, so on an unchanged tree it only looks (about 0.1 s in all).
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const pnpm = 'pnpm@10.34.9'
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const stampFile = path.join(root, 'node_modules/.stoa-set-up.json')
const lockFile = path.join(root, 'node_modules/.stoa-set-up.lock')

class SetUpError extends Error {}

try {
  requireNode(20, 19)
  if (!isReady()) await withLock(setUp)
} catch (error) {
  if (!(error instanceof SetUpError)) throw error
  console.error(`stoa: ${error.message}`)
  process.exitCode = 1
}

function requireNode(major, minor) {
  const [haveMajor, haveMinor] = process.versions.node.split('.').map(Number)
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return
  throw new SetUpError(
    `Node ${process.versions.node} is too old; install Node ${major}.${minor} or newer and run the command again.`
  )
}

function isReady() {
  const stamp = readStamp()
  return stamp.install === installInputs() && stamp.build === buildInputs() && projects().every(isBuilt)
}

// A stamp is taken away before the work it vouches for begins, and holds the inputs as they were before it began: who
// sees a stamp sees finished work, and a file edited meanwhile makes the next run do it again.
async function setUp() {
  if (isReady()) return
  const install = installInputs()
  const mustInstall = readStamp().install !== install
  if (mustInstall) {
    writeStamp({})
    await installPackages()
  }
  writeStamp({ install })
  const build = buildInputs()
  // New packages can change types without a newer source, which the compiler's own check would miss.
  await compile(mustInstall ? ['--force'] : [])
  writeStamp({ install, build })
}

async function installPackages() {
  console.error('stoa: installing packages (the first time compiles sqlite3, about a minute)')
  const env = { ...process.env, CI: 'true' }
  // node-gyp would download Node's headers, also where they lie next to the Node that runs.
  const prefix = path.resolve(path.dirname(process.execPath), '..')
  if (!env.npm_config_nodedir && fs.existsSync(path.join(prefix, 'include/node/node.h'))) {
    env.npm_config_nodedir = prefix
  }
  // --prod=false: the compiler is a development dependency, and NODE_ENV=production would leave it out.
  const args = ['--yes', pnpm, 'install', '--frozen-lockfile', '--prod=false']
  const windows = process.platform === 'win32'
  const { code, output } = await run(windows ? 'npx.cmd' : 'npx', args, { env, shell: windows })
  if (code === 0) return
  console.error(output)
  throw new SetUpError(
    'the packages could not be installed; see the output above, check the network and that a C++ compiler and Python ' +
      'are there, and run the command again.'
  )
}

async function compile(flags) {
  console.error('stoa: building')
  projects().forEach(removeOrphans)
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc')
  const { code, output } = await run(process.execPath, [compiler, '-b', ...flags])
  if (code === 0) return
  console.error(output)
  throw new SetUpError('the sources do not compile; fix the errors above and run the command again.')
}

// The compiler never deletes what it once wrote: a test whose source is gone would go on running.
function removeOrphans({ sources, dist }) {
  for (const file of filesUnder(dist, /\.(js|d\.ts)(\.map)?$/)) {
    const source = path.relative(dist, file).replace(/\.(js|d\.ts)(\.map)?$/, '.ts')
    if (!fs.existsSync(path.join(sources, source))) fs.rmSync(file)
  }
}

// The compiler's own record lies in each dist; somebody who deletes a dist to start afresh deletes it too.
function isBuilt({ dist }) {
  return filesUnder(dist, /\.tsbuildinfo$/).length > 0
}

// Contents, because a checkout or a copy gives manifests new times without changing them.
function installInputs() {
  const { node, modules } = process.versions
  const hash = createHash('sha256').update([pnpm, node, modules, process.platform, process.arch].join(' '))
  const manifests = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json'].map((file) => path.join(root, file))
  for (const file of [...manifests, ...projects().map(({ folder }) => path.join(folder, 'package.json'))]) {
    hash.update(`\n${path.relative(root, file)}\n`).update(fs.readFileSync(file))
  }
  return hash.digest('hex')
}

// Times and sizes, because there are many sources, and the compiler compares contents itself when one looks newer.
function buildInputs() {
  const hash = createHash('sha256')
  const configs = ['tsconfig.json', 'tsconfig.base.json'].map((file) => path.join(root, file))
  for (const { folder, sources } of projects()) {
    configs.push(path.join(folder, 'tsconfig.json'), ...filesUnder(sources, /\.ts$/))
  }
  for (const file of configs) {
    const { mtimeMs, size } = fs.statSync(file)
    hash.update(`${path.relative(root, file)} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}

function projects() {
  const inside = (parent) => fs.readdirSync(path.join(root, parent)).map((name) => path.join(parent, name))
  const project = (name, sources) => {
    const folder = path.join(root, name)
    return { folder, sources: path.join(folder, sources), dist: path.join(folder, 'dist') }
  }
  return [
    ...[...inside('packages'), ...inside('apps')].map((name) => project(name, 'src')),
    ...['test', 'bench'].map((name) => project(name, '.'))
  ].filter(({ folder }) => fs.existsSync(path.join(folder, 'tsconfig.json')))
}

function filesUnder(folder, pattern) {
  if (!fs.existsSync(folder)) return []
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : filesUnder(file, pattern)
    return pattern.test(entry.name) ? [file] : []
  })
}

function readStamp() {
  try {
    return JSON.parse(fs.readFileSync(stampFile, 'utf8'))
  } catch {
    // Absent or cut short: nothing is known to be done.
    return {}
  }
}

function writeStamp(stamp) {
  fs.writeFileSync(`${stampFile}.new`, JSON.stringify(stamp))
  fs.renameSync(`${stampFile}.new`, stampFile)
}

async function run(command, args, options = {}) {
  // In a process group of its own, so that all of it can be ended with us; an install that went on would meet the next
  // one. By SIGKILL, because npm goes on for seconds after a gentler signal; the missing stamp makes the next run redo it.
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options })
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1]
  ]) {
    process.once(signal, () => {
      process.kill(-child.pid, 'SIGKILL')
      process.exit(128 + number)
    })
  }
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: String(error) }))
    child.once('close', (code) => resolve({ code, output }))
  })
}

// `npm start` and `npm test` may run at once; the second waits, and then finds the work done. A lock is stale when its
// process is gone, or has not touched it for a minute: then the process id belongs to somebody else by now.
async function withLock(work) {
  fs.mkdirSync(path.dirname(lockFile), { recursive: true })
  const mine = `${process.pid} ${randomUUID()}`
  for (let waited = false; !takeLock(mine); waited = true) {
    if (!waited) console.error('stoa: waiting for another set-up of this tree to finish')
    await sleep(200)
  }
  process.once('exit', () => fs.rmSync(lockFile, { force: true }))
  const heartbeat = setInterval(() => fs.utimes(lockFile, new Date(), new Date(), () => {}), 5_000)
  try {
    await work()
  } finally {
    clearInterval(heartbeat)
  }
}

function takeLock(mine) {
  const aside = `${lockFile}.${process.pid}`
  fs.writeFileSync(aside, mine)
  try {
    // A link, because it appears with its content: nobody reads a lock that does not say yet whose it is.
    fs.linkSync(aside, lockFile)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    removeStaleLock(aside)
    return false
  } finally {
    fs.rmSync(aside, { force: true })
  }
}

function removeStaleLock(aside) {
  try {
    const held = fs.readFileSync(lockFile, 'utf8')
    if (isAlive(Number.parseInt(held)) && Date.now() - fs.statSync(lockFile).mtimeMs < 60_000) return
    // Moved aside first, because another waiter may have replaced the stale lock by its own since we read it.
    fs.renameSync(lockFile, aside)
    if (fs.readFileSync(aside, 'utf8') !== held) fs.linkSync(aside, lockFile)
  } catch (error) {
    // Its holder let go, or another waiter was faster.
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
