import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

/** The URL of the PostgreSQL of this test process, brought up on the first call. */
export async function postgresUrl(): Promise<string> {
  const given = process.env['STOA_TEST_DATABASE_URL']
  if (given) return given
  server ??= startServer()
  return (await server).url
}

/** A new empty database; `drop` removes it, whoever is still connected. */
export async function freshDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `stoa_test_${randomBytes(8).toString('hex')}`
  // template0, because nobody can be connected to it: a copy of template1 fails while somebody is.
  await runOnServer(`create database ${name} template template0`)
  const url = new URL(await postgresUrl())
  url.pathname = `/${name}`
  return { url: url.href, drop: () => runOnServer(`drop database if exists ${name} with (force)`) }
}

/** Stops the server that this process brought up and removes its files. */
export async function stopPostgres(): Promise<void> {
  const starting = server
  server = undefined
  const keeper = (await starting?.catch(() => undefined))?.keeper
  if (!keeper || keeper.exitCode !== null || keeper.signalCode !== null) return
  const exited = once(keeper, 'exit')
  keeper.ref()
  keeper.stdin?.end()
  await exited
}

interface Server {
  url: string
  keeper: ChildProcess
}

let server: Promise<Server> | undefined

/**
 * The server belongs to a child of ours, the keeper, which lives exactly as long as its stdin is open. The kernel
 * closes that pipe however this process ends, kill -9 included, so a server cannot outlive its tests.
 */
async function startServer(): Promise<Server> {
  const keeper = spawn(process.execPath, [fileURLToPath(new URL('postgres-keeper.js', import.meta.url))], {
    // Its own process group: Ctrl-C ends the tests, and only then, by the closed pipe, the server.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe']
  })
  let problem = ''
  keeper.stderr.on('data', (chunk: Buffer) => (problem += chunk.toString()))
  const url = await new Promise<string>((resolve, reject) => {
    let line = ''
    keeper.stdout.on('data', (chunk: Buffer) => {
      line += chunk.toString()
      if (line.endsWith('\n')) resolve(line.trim())
    })
    keeper.once('error', reject)
    keeper.once('close', () =>
      reject(
        new Error('The PostgreSQL of the tests did not start; set STOA_TEST_DATABASE_URL to the URL of one of yours.\n' + problem)
      )
    )
  })
  // The keeper must not hold up the end of the tests.
  keeper.unref()
  for (const stream of [keeper.stdin, keeper.stdout, keeper.stderr]) (stream as Socket).unref()
  return { url, keeper }
}

async function runOnServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: await postgresUrl() })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
