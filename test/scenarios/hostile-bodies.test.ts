import { expect } from 'chai'
import fc from 'fast-check'
import { queryString, type Answer, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { withoutIds } from '../support/doors.js'
import { body, doorBody, query } from './fuzz-bodies.js'
import {
  creation,
  DOORS,
  expectNoInside,
  fuzzScene,
  insideOf,
  patchOf,
  RUNS,
  SEED,
  SERVICES,
  type FuzzScene,
  type Service
} from './fuzz-scene.js'

/** Nested so deeply that a function which calls itself for every level runs out of stack. */
const DEEP = { lists: `${'['.repeat(20_000)}${']'.repeat(20_000)}`, objects: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` }

/** What means something to a search engine. */
const SEARCHES = [
  '"',
  '""',
  "'",
  "''",
  '*',
  '**',
  'a**',
  '* a',
  'NEAR(a b)',
  'NEAR(a b, 10)',
  'a AND',
  'OR',
  'NOT',
  'a NOT b',
  'words:a',
  'session:*',
  '{words session}:a',
  '-words:a',
  '^a',
  'a + b',
  ':*',
  'a:*',
  'a:ABCD',
  '!',
  '!a',
  'a & !b',
  'a <-> b',
  'a <2> b',
  '(a',
  'a)',
  'a\\',
  "a\\'",
  "a' OR 1=1 --",
  '%',
  '_',
  '$1',
  '?',
  ':1',
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00*',
  '\u202e',
  '🙂',
  '🙂*',
  '漢字',
  'é'.normalize('NFD'),
  'ﬁ*',
  'x'.repeat(200),
  'x'.repeat(201),
  'a '.repeat(100),
  'a* '.repeat(60)
]

describe('hostile bodies and queries', () => {
  eachDatabase((database) => {
    let scene: FuzzScene

    before(async () => {
      console.log(`      the same bodies again: SEED=${SEED}`)
      scene = await fuzzScene((await database.start()).url)
    })

    after(() => scene?.socket.close())

    const bothAnswer = async (name: string, calls: [Promise<Answer>, Promise<Answer>]) => {
      for (const answer of await Promise.all(calls)) expectNoInside(answer, name)
    }

    for (const service of SERVICES) {
      it(`J11: ${service}: no body fails inside, however it is made up`, async function () {
        this.timeout(120_000)
        const { rest, socket, ids } = scene
        const whole = fc.tuple(fc.constantFrom('create', 'patch'), fc.boolean(), body(service))
        const property = fc.asyncProperty(whole, async ([method, onValid, fields]) => {
          const valid = method === 'create' ? creation(service, scene) : patchOf(service)
          const data = onValid && isObject(fields) ? { ...valid, ...fields } : fields
          const name = `${method} ${JSON.stringify(data)}`
          if (method === 'create')
            await bothAnswer(name, [rest('POST', `/${service}`, JSON.stringify(data)), socket.send('create', service, data, {})])
          else
            await bothAnswer(name, [
              rest('PATCH', `/${service}/${ids[service]}`, JSON.stringify(data)),
              socket.send('patch', service, ids[service], data, {})
            ])
        })
        await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true })
        expect((await rest('GET', '/sessions')).status, 'still signed in').to.equal(200)
      })

      it(`J11: ${service}: no query fails inside, however it is made up`, async function () {
        this.timeout(120_000)
        const { rest, socket, ids } = scene
        const property = fc.asyncProperty(query(service), async (asked) => {
          const name = `find ${JSON.stringify(asked)}`
          await bothAnswer(name, [rest('GET', `/${service}${inUrl(asked)}`), socket.send('find', service, asked)])
          await bothAnswer(name, [
            rest('GET', `/${service}/${ids[service]}${inUrl(asked)}`),
            socket.send('get', service, ids[service], asked)
          ])
        })
        await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true })
      })
    }

    for (const door of DOORS)
      it(`J11: ${door.on}/:id/${door.name}: nothing that is sent to it fails inside, however it is made up`, async function () {
        this.timeout(120_000)
        const { rest, socket, spare } = scene
        const path = `${door.on}/${spare[door.on]}/${door.name}`
        const property = fc.asyncProperty(fc.boolean(), doorBody(door), async (onValid, made) => {
          const data = onValid && isObject(made) ? { ...door.valid, ...made } : made
          const name = `${path} ${JSON.stringify(data)}`
          if (door.method === 'create')
            await bothAnswer(name, [rest('POST', `/${path}`, JSON.stringify(data)), socket.send('create', path, data, {})])
          else if (isObject(data))
            await bothAnswer(name, [rest('GET', `/${path}${inUrl(data)}`), socket.send('find', path, data)])
        })
        await fc.assert(property, { seed: SEED, numRuns: RUNS / 2, endOnFailure: true })
        expect((await rest('GET', `/sessions/${spare.sessions}/context`)).status, 'still there').to.equal(200)
      })

    it('J11: a search is words and nothing else: no operator, column or quote of a database means anything in it', async () => {
      const { rest, socket, ids } = scene
      const failed: Failure[] = []
      for (const search of SEARCHES) {
        const query = { search, session_id: ids.sessions }
        for (const answer of [await rest('GET', `/messages${inUrl(query)}`), await socket.send('find', 'messages', query)])
          failed.push(...failure(search, answer))
      }
      expect(failed).to.deep.equal([])
      const message = { session_id: ids.sessions, role: 'user', content: 'Tea, or coffee?' }
      expect((await rest('POST', '/messages', message)).status).to.equal(201)
      const found = async (search: string) => (await rest('GET', `/messages${queryString({ search })}`)).body['total']
      const words = [
        'tea OR nothing',
        'tea | nothing',
        'tea AND nothing',
        'NOT nothing',
        '!nothing',
        '-nothing',
        'words:tea',
        'te'
      ]
      for (const search of words) expect([search, await found(search)]).to.deep.equal([search, 0])
      for (const search of ['tea', '"TEA', 'coffee) tea', 'tea or coffee', 'te*', "tea'"])
        expect([search, await found(search)]).to.deep.equal([search, 1])
    })

    it('J11: a column that is no field is answered like a word that means nothing', async () => {
      const queries = [
        '$select[]=password_hash',
        '$select[]=password_hash as x',
        '$select=password_hash',
        '$sort[password_hash]=1',
        'password_hash[$gt]=a',
        'password_hash[$like]=%25',
        '$or[0][password_hash]=a',
        'users.password_hash=a',
        '$select[]=*',
        '$sort[1]=1',
        '$and[0][$or][0][password_hash][$ne]=a'
      ]
      for (const service of SERVICES)
        for (const asked of queries) {
          const [real, nonsense] = [
            await scene.rest('GET', `/${service}?${encodeURI(asked)}`),
            await scene.rest('GET', `/${service}?${encodeURI(asked.replace('password_hash', 'password_bash'))}`)
          ]
          const same = (answer: Answer) => [
            answer.status,
            JSON.stringify(withoutIds(answer)).replaceAll('password_hash', 'password_bash')
          ]
          expect(same(real), `${service} ${asked}`).to.deep.equal(same(nonsense))
          expect(real.status, `${service} ${asked}`).to.equal(400)
        }
    })

    it('J11: unknown operators, repeated and nested parameters are refused or harmless', async () => {
      const queries = [
        'role=a&role=b',
        'title[$like]=%25',
        'title[$ilike]=a',
        'title[$regex]=.*',
        '$where=1',
        '$limit=1&$limit=2',
        '$limit[$gt]=1',
        '$limit=1e3',
        '$limit=NaN',
        '$skip=99999999999999999999',
        'seq=99999999999999999999',
        'seq[$gt]=-99999999999999999999',
        'after_seq=99999999999999999999',
        'before_seq=1e400',
        '$sort=seq',
        '$sort[seq]=2',
        '$select[a]=b',
        'created_at=yesterday',
        'created_at[$lt]=2016-12-31T23:59:60Z',
        'ts[$gte]=2016-12-31T23:59:60Z',
        'created_at[$in][]=9999-12-31T23:59:59.999Z',
        'created_at=0000-01-01T00:00:00Z',
        'pinned=maybe',
        'title=%00',
        'title=%ff%fe',
        `title${'[a]'.repeat(500)}=1`,
        `$or${'[0][$or]'.repeat(50)}=1`,
        '$or=1',
        '$or[0]=1',
        '$and[]=',
        '&&&==',
        '?=?',
        '[]=1',
        '__proto__[a]=1',
        'constructor[prototype][a]=1',
        'title[__proto__]=1',
        `title[$in]=${'a,'.repeat(1000)}`,
        Array.from({ length: 800 }, (_, index) => `title[$in][]=${index}`).join('&')
      ]
      const failed: Failure[] = []
      for (const service of SERVICES)
        for (const asked of queries)
          for (const path of [`/${service}?${asked}`, `/${service}/${scene.ids[service]}?${asked}`])
            failed.push(...failure(path.slice(0, 120), await scene.rest('GET', path)))
      expect(failed).to.deep.equal([])
    })

    it('J11: a body that is not JSON, not an object, or of another type is 400, and deep nesting does not fail inside', async () => {
      const bodies = [
        '{',
        '',
        'null',
        '5',
        '"x"',
        'true',
        '{"a":}',
        '[1',
        '{"a":1}{"b":2}',
        '\ufeff{}',
        "{'a':1}",
        'a=b&c=d',
        '\0',
        '{"session_id":"\\ud800"}',
        DEEP.lists,
        DEEP.objects,
        `{"name":${DEEP.lists}}`,
        `{"name":${DEEP.objects}}`
      ]
      const doors = DOORS.filter(({ method }) => method === 'create').map(
        ({ on, name }) => ['POST', `/${on}/${scene.spare[on]}/${name}`] as const
      )
      const failed: Failure[] = []
      for (const service of SERVICES)
        for (const sent of bodies) {
          const targets = [
            ['POST', `/${service}`],
            ['PATCH', `/${service}/${scene.ids[service]}`],
            ['POST', '/authentication']
          ] as const
          for (const [method, path] of targets) {
            const answer = await scene.rest(method, path, sent)
            failed.push(...failure(`${method} ${path} ${sent.slice(0, 20)}`, answer))
            if (answer.status < 400) failed.push([`${method} ${path} ${sent.slice(0, 20)}`, `${answer.status}`])
          }
        }
      for (const [method, path] of doors)
        // No body at all, and an empty object behind a byte order mark, are enough where nothing is asked for.
        for (const sent of bodies.filter((text) => !['', '\ufeff{}'].includes(text))) {
          const answer = await scene.rest(method, path, sent)
          failed.push(...failure(`${method} ${path} ${sent.slice(0, 20)}`, answer))
          if (answer.status < 400) failed.push([`${method} ${path} ${sent.slice(0, 20)}`, `${answer.status}`])
        }
      expect(failed).to.deep.equal([])
    })

    it('J11: deep nesting where any JSON is taken is kept or refused, and does not fail inside', async () => {
      const { rest, ids } = scene
      const failed: Failure[] = []
      for (const [kind, deep] of Object.entries(DEEP))
        for (const [method, path, sent] of [
          ['POST', '/messages', `{"session_id":"${ids.sessions}","role":"user","content":[{"type":"x","a":${deep}}]}`],
          ['POST', '/messages', `{"session_id":"${ids.sessions}","role":"user","content":"x","metadata":{"a":${deep}}}`],
          ['POST', '/sessions', `{"worktree_id":"${ids.worktrees}","settings":{"a":${deep}}}`],
          ['PATCH', `/sessions/${ids.sessions}`, `{"settings":{"a":${deep}}}`],
          ['PATCH', `/tasks/${ids.tasks}`, `{"usage":{"a":${deep}}}`]
        ] as const)
          failed.push(...failure(`${method} ${path} with ${kind}`, await rest(method, path, sent)))
      expect(failed).to.deep.equal([])
    })

    it('J11: a time that no clock shows, a number beyond 64 bits and a half of a surrogate pair do not fail inside', async () => {
      const { rest, socket, ids } = scene
      const odd: [Service, Body][] = [
        ['sessions', { archived_at: '2016-12-31T23:59:60Z' }],
        ['sessions', { archived_at: '0000-01-01T00:00:00Z' }],
        ['sessions', { settings: { a: '\ud800' } }],
        ['sessions', { settings: { a: { '\ud800': '\udc00' } } }],
        ['sessions', { title: '\ud800' }],
        ['sessions', { tools: ['\ud800'] }],
        ['tasks', { usage: { a: '\ud800', b: 1e308 } }],
        ['tasks', { git_state: { commit_message: '\ud800' } }],
        ['tasks', { error: { code: '\ud800', message: '\ud800' } }],
        ['messages', { metadata: { a: '\ud800' } }],
        ['worktrees', { name: '\ud800' }],
        ['grants', { reason: '\ud800' }],
        ['users', { name: '\ud800' }]
      ]
      const failed: Failure[] = []
      for (const [service, data] of odd) {
        const answers = [
          await rest('PATCH', `/${service}/${ids[service]}`, data),
          await socket.send('patch', service, ids[service], data, {})
        ]
        for (const answer of answers) failed.push(...failure(`${service} ${JSON.stringify(data)}`, answer))
      }
      const key = { name: 'x', expires_at: '2016-12-31T23:59:60Z' }
      for (const answer of [await rest('POST', '/api-keys', key), await socket.send('create', 'api-keys', key, {})])
        failed.push(...failure('expires_at', answer))
      expect(failed).to.deep.equal([])
    })
  })
})

/** Half of a surrogate pair cannot be written in a URL; a socket takes it. */
const inUrl = (asked: Body) => queryString(JSON.parse(JSON.stringify(asked).replace(/\\ud[89a-f][0-9a-f]{2}/g, '?')) as Body)

type Failure = [request: string, told: string]

function failure(name: string, answer: Answer): Failure[] {
  const told = insideOf(answer)
  return told === null ? [] : [[name, told]]
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
