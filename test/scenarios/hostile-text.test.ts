import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { client, type Body } from '../support/client.js'
import { doorKeeper } from '../support/doors.js'
import { eachDatabase, type StoringDaemon } from '../support/databases.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, made, type Person, type World } from '../support/world.js'

const TEXTS: Record<string, string> = {
  'a line end': 'a\nb\r\n{"level":30,"outcome":"ok"}',
  ANSI: '\u001b[31mred\u001b]0;title\u0007\u009b2J',
  'bidi marks': 'a\u202eb\u2066c\u2069\u200f',
  'a NUL': 'a\0b',
  'a formula': "=cmd()|'/c calc'!A1",
  'quotes and commas': '"a","b";\'c\'\t<script>{{x}}%s%n${x}',
  'line separators': 'a\u2028b\u2029c\u0085d',
  'half a pair': 'a\ud800b'
}
const TEN_MEGABYTES = 'x'.repeat(10_000_000)

describe('hostile text', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let daemon: StoringDaemon
    let world: World
    let alice: Person
    let worktree_id: string
    let session_id: string

    before(async () => {
      daemon = await database.start()
      world = await buildWorld(daemon.url)
      alice = await world.user('alice')
      worktree_id = await world.worktree(alice)
      session_id = await world.session(alice, worktree_id)
    })

    /** Every field that takes text, with a body around it. */
    const bodiesWith = (text: string): [service: string, field: string, body: Body][] => [
      ['worktrees', 'name', { name: text }],
      ['sessions', 'title', { worktree_id, title: text }],
      ['sessions', 'agent', { worktree_id, agent: text }],
      ['sessions', 'settings', { worktree_id, settings: { a: text } }],
      ['sessions', 'tools', { worktree_id, tools: [text] }],
      ['tasks', 'prompt', { session_id, prompt: text }],
      ['tasks', 'agent', { session_id, prompt: 'x', agent: text }],
      ['messages', 'content', { session_id, role: 'user', content: text }],
      ['messages', 'content', { session_id, role: 'user', content: [{ type: 'text', text }] }],
      ['messages', 'metadata', { session_id, role: 'user', content: '', metadata: { [`k${text}`]: text } }],
      ['messages', 'client_message_id', { session_id, role: 'user', content: '', client_message_id: text }],
      ['api-keys', 'name', { name: text }]
    ]

    const expectCleanLog = async () => {
      const log = await daemon.log()
      for (const line of log.trimEnd().split('\n')) expect(JSON.parse(line), line.slice(0, 200)).to.include.keys('level', 'time')
      expect(`${log}${daemon.said()}`).to.not.match(
        /[\0-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
      )
    }

    for (const [name, text] of Object.entries(TEXTS))
      it(`J10: ${name} in any text is kept as it is or refused, and never in the log`, async () => {
        const failed: unknown[] = []
        for (const door of await open(world.url, alice.token))
          for (const [service, field, body] of bodiesWith(text)) {
            const { status, body: told } = await door.call(service, 'create', body)
            const altered = status === 201 && JSON.stringify(told[field]) !== JSON.stringify(body[field])
            if (![200, 201, 400, 409].includes(status) || altered)
              failed.push([door.transport, service, field, status, altered ? told[field] : told])
          }
        expect(failed).to.deep.equal([])
        await expectCleanLog()
      })

    it('J10: 10 MB in any text is too large over REST, ends only the socket that sent it, and none of it is kept', async function () {
      this.timeout(120_000)
      const services = ['worktrees', 'sessions', 'tasks', 'messages', 'api-keys']
      const count = async () =>
        Promise.all(services.map(async (service) => (await made(alice.rest.get(`/${service}?$limit=0`)))['total']))
      const before = await count()
      for (const [service, field, body] of bodiesWith(TEN_MEGABYTES)) {
        const answer = await alice.rest.post(`/${service}`, body)
        expect([answer.status, (answer.body['data'] as Body)['code']], `${service} ${field}`).to.deep.equal([413, 'too_large'])
      }
      const [beside, sender] = [await openSocket(world.url, alice.token), await openSocket(world.url, alice.token)]
      const told = await sender.call('messages', 'create', { session_id, role: 'user', content: TEN_MEGABYTES }).then(
        ({ status }) => status,
        (error: Error) => error.message
      )
      expect(told).to.be.oneOf([413, 'socket has been disconnected'])
      expect((await beside.call('sessions', 'get', session_id)).status).to.equal(200)
      for (const door of [beside, sender]) door.close()
      expect(await count()).to.deep.equal(before)
    })

    it('J10: hostile headers are refused or harmless, and leave no trace in the log', async () => {
      const values = [
        '=cmd()',
        '\u202eevil',
        '\u001b[31mred',
        'a\u0000b',
        'a\u009bb',
        `"},{"level":50`,
        '${jndi:ldap://x}',
        'x'.repeat(5000),
        'x'.repeat(200_000)
      ]
      for (const name of [
        'User-Agent',
        'X-Request-Id',
        'X-Forwarded-For',
        'Referer',
        'Accept',
        'Cookie',
        'If-Match',
        'Traceparent'
      ])
        for (const value of values) {
          const first = await rawHeader(world.url, `GET /sessions/${session_id} HTTP/1.1`, {
            Authorization: `Bearer ${alice.token}`,
            [name]: value
          })
          expect(first, `${name} ${value.slice(0, 20)}`).to.match(/^HTTP\/1.1 [24]\d\d|^$/)
        }
      await expectCleanLog()
      expect(await daemon.log()).to.not.match(/cmd\(\)|jndi|evil/)
      expect((await alice.rest.get('/livez')).status).to.equal(200)
    })

    it('J10: what is typed is in no log line, no journal row, no metric and no error of anybody', async () => {
      const canaries = new Map<string, string>()
      const canary = (label: string): string => {
        const word = `canary${randomBytes(8).toString('hex')}`
        canaries.set(word, label)
        return word
      }
      const errors = await typeEverywhere({ world, alice, worktree_id, session_id, canary })
      const journal = JSON.stringify(await world.journalSince(0))
      const metrics = JSON.stringify([await alice.rest.get('/metrics'), await alice.rest.get('/health')])
      const places: Record<string, string> = {
        log: await daemon.log(),
        output: daemon.said(),
        journal,
        metrics,
        errors: JSON.stringify(errors)
      }
      const found = Object.entries(places).flatMap(([place, text]) =>
        [...canaries].filter(([word]) => text.includes(word)).map(([, label]) => `${label} is in the ${place}`)
      )
      expect(found).to.deep.equal([])
      expect(errors.length).to.be.above(50)
      expect(
        (await daemon.stored()).includes([...canaries].find(([, label]) => label.startsWith('a message'))![0]),
        'the messages themselves are kept'
      ).to.equal(true)
    })
  })
})

interface Typing {
  world: World
  alice: Person
  worktree_id: string
  session_id: string
  canary(label: string): string
}

/** Types a word of its own into every input there is, through both doors, well and badly; returns every refusal. */
async function typeEverywhere({ world, alice, worktree_id, session_id, canary }: Typing): Promise<Body[]> {
  const errors: Body[] = []
  const bob = await world.user('bob')
  for (const door of [alice.rest, await openSocket(world.url, alice.token)]) {
    const keep = async (service: string, method: string, ...args: unknown[]): Promise<Body> => {
      const { status, body } = await door.call(service, method, ...args)
      if (status >= 400) errors.push(body)
      return body
    }
    const name = (label: string) => canary(`${label} over ${door.transport}`)
    const message = await keep('messages', 'create', {
      session_id,
      role: 'user',
      content: name('a message'),
      metadata: { a: name('metadata') },
      client_message_id: name('a client id')
    })
    await keep('messages', 'patch', message['message_id'], { content: [{ type: 'text', text: name('an edited message') }] })
    await keep('messages', 'create', {
      session_id,
      role: 'user',
      content: 'other',
      client_message_id: message['client_message_id']
    })
    await keep('messages', 'create', { session_id, role: name('a bad role'), content: name('a refused message') })
    const task = await keep('tasks', 'create', {
      session_id,
      prompt: name('a prompt'),
      agent: name('an agent'),
      requested_model: name('a model')
    })
    await keep('tasks', 'patch', task['task_id'], {
      because: name('because'),
      error: { code: 'x', message: name('an error') },
      usage: { a: name('usage') },
      git_state: { commit_message: name('a commit') }
    })
    await keep('tasks', 'patch', task['task_id'], { status: name('a bad status') })
    const session = await keep('sessions', 'create', {
      worktree_id,
      title: name('a title'),
      settings: { a: name('a setting') },
      tools: [name('a tool')]
    })
    await keep('sessions', 'patch', session['session_id'], {
      title: name('a new title'),
      settings: { a: `${name('half a pair')}\ud800` }
    })
    await keep('sessions', 'patch', session['session_id'], { title: `${name('a title with a NUL')}\0` })
    await keep('sessions', 'patch', session['session_id'], { archived_at: name('a bad time') })
    await keep('worktrees', 'create', { name: name('a worktree'), others_can: 'none' })
    await keep('worktrees', 'create', { name: 'x', repo_path: `/${name('a path')}`, ref: name('a ref') })
    await keep('users', 'patch', alice.user_id, { name: name('a name') })
    await keep('users', 'create', {
      email: `${name('an address')}@example.com`,
      name: name('a new name'),
      password: name('a password')
    })
    await keep('api-keys', 'create', { name: name('the name of a key') })
    for (const service of ['sessions', 'tasks', 'messages', 'worktrees', 'grants', 'users', 'api-keys', 'journal']) {
      await keep(service, 'get', name(`an id of ${service}`))
      await keep(service, 'find', { query: { session_id: name(`a filter of ${service}`) } })
      await keep(service, 'find', { query: { $select: [name(`a selection of ${service}`)] } })
    }
    await keep('messages', 'find', {
      query: { client_message_id: name('a filter beside a number that is too large'), seq: 2 ** 70 }
    })
    await keep('sessions', 'find', { query: { title: name('a filter beside a bad time'), created_at: '2016-12-31T23:59:60Z' } })
    await keep('authentication', 'create', { strategy: 'local', email: bob.email, password: name('a wrong password') })
    await keep('authentication', 'create', {
      strategy: 'local',
      email: name('a password in place of the address'),
      password: 'x'
    })
    await keep('authentication', 'create', { strategy: name('a strategy'), accessToken: 'x' })
    await keep('authentication', 'create', { strategy: 'jwt', accessToken: name('a token') })
    await keep('authentication', 'create', { strategy: 'api-key', accessToken: `stoa_pat_${name('a key')}` })
    for (const [service, id] of [
      ['messages', message['message_id']],
      ['tasks', task['task_id']],
      ['sessions', session['session_id']]
    ] as const) {
      const path = `/${service}/${String(id)}`
      for (const answer of [await bob.rest.get(path), await bob.rest.patch(path, { version: 1 }), await bob.rest.del(path)])
        errors.push(answer.body)
    }
    door.close()
  }
  const owner = {
    email: `${canary('the address of a user')}@example.com`,
    password: canary('the password of a user'),
    name: 'x',
    role: 'member'
  }
  const user = await made(world.root.rest.post('/users', owner))
  await made(world.root.rest.patch(`/users/${String(user['user_id'])}`, { password: canary('a new password') }))
  for (const header of [
    'user-agent',
    'x-request-id',
    'cookie',
    'referer',
    'if-match',
    'x-forwarded-for',
    'traceparent',
    'content-type'
  ])
    errors.push(
      (await alice.rest.patch(`/sessions/${session_id}`, { title: 'x' }, { [header]: canary(`the header ${header}`) })).body
    )
  errors.push((await client(world.url, canary('a bearer')).get('/sessions')).body)
  errors.push((await client(world.url, `stoa_task_${canary('a task token')}`).get('/sessions')).body)
  const broken = await fetch(`${world.url}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${alice.token}` },
    body: `{"content": "${canary('broken JSON')}`
  })
  errors.push((await broken.json()) as Body)
  errors.push(
    (await client(world.url).get(`/sessions?access_token=${canary('a token in the URL')}`)).body,
    (await client(world.url).get(`/${canary('a path')}`)).body
  )
  return errors.filter((body) => Number(body['code']) >= 400)
}

/** The first line of the answer to a request written byte for byte; empty when the connection was closed without one. */
function rawHeader(url: string, line: string, headers: Record<string, string>): Promise<string> {
  const { hostname, port } = new URL(url)
  const lines = Object.entries({ Host: `${hostname}:${port}`, Connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}`
  )
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () => socket.write(`${[line, ...lines].join('\r\n')}\r\n\r\n`))
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')))
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    socket.on('close', () => resolve(answer.split('\r\n')[0]!))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve(answer.split('\r\n')[0]!)
      else reject(error)
    })
  })
}
