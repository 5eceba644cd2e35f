import { expect } from 'chai'
import fc from 'fast-check'
import type { Answer, Body } from '../support/client.js'
import { queryString } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { rawRequest } from '../support/raw-request.js'
import { openRawSocket, type RawSocket } from '../support/raw-socket.js'
import type { Person } from '../support/world.js'
import { hostileText, hostileValue } from './fuzz-ids.js'
import {
  creation,
  DOORS,
  expectNoInside,
  fuzzScene,
  KEYS,
  OFFERED,
  patchOf,
  RUNS,
  SEED,
  SERVICES,
  type FuzzScene,
  type Service
} from './fuzz-scene.js'

/** The fields of a body that name another record. */
const REFERENCES = [
  ['grants', 'worktree_id'],
  ['grants', 'user_id'],
  ['sessions', 'worktree_id'],
  ['sessions', 'parent_session_id'],
  ['tasks', 'session_id'],
  ['messages', 'session_id'],
  ['messages', 'task_id']
] as const

/** What a client may send in place of the name of a service. */
const NO_SERVICES = [
  'nonsense',
  '',
  '/',
  '__proto__',
  'constructor',
  'toString',
  'sessions/',
  'sessions/x/y',
  null,
  5,
  {},
  [],
  ['sessions']
]

/** The names that every object has, and the one that every function has. */
const INHERITED = [...Object.getOwnPropertyNames(Object.prototype), 'prototype']

describe('hostile ids', () => {
  eachDatabase((database) => {
    let scene: FuzzScene
    let bob: Person
    let bobs: RawSocket

    before(async () => {
      console.log(`      the same ids again: SEED=${SEED}`)
      scene = await fuzzScene((await database.start()).url)
      bob = await scene.world.user('bob')
      bobs = await openRawSocket(scene.world.url, bob.token)
    })

    after(() => [scene?.socket, bobs].forEach((socket) => socket?.close()))

    const expectRefused = (answer: Answer, what: string) => {
      expect(answer.status, `${what} ${JSON.stringify(answer.body).slice(0, 300)}`).to.be.oneOf([400, 404, 405])
      expectNoInside(answer, what)
    }

    /** Runs `check` on hostile ids, and sees that nothing of alice's has changed. */
    const holds = async (service: Service, hostile: fc.Arbitrary<unknown>, check: (id: unknown) => Promise<void>) => {
      const before = await scene.everything()
      await fc.assert(fc.asyncProperty(hostile, check), { seed: SEED, numRuns: RUNS, endOnFailure: true })
      expect(await scene.everything(), service).to.deep.equal(before)
    }

    for (const service of SERVICES) {
      it(`J11: ${service}: what is not an id finds, changes and removes nothing in the path, though one has the rights`, async function () {
        this.timeout(120_000)
        await holds(
          service,
          hostileText(() => scene.ids[service]),
          async (id) => {
            const path = `/${service}/${encodeURIComponent(id as string)}`
            expectRefused(await scene.rest('GET', path), `GET ${path}`)
            for (const method of OFFERED[service]) {
              const [verb, body] = method === 'patch' ? ['PATCH', patchOf(service)] : ['DELETE', undefined]
              expectRefused(await scene.rest(verb!, path, body), `${verb} ${path}`)
            }
          }
        )
      })

      it(`J11: ${service}: what is not an id finds, changes and removes nothing on a socket, whatever its type`, async function () {
        this.timeout(120_000)
        await holds(
          service,
          fc.oneof(
            hostileText(() => scene.ids[service]),
            hostileValue(() => scene.ids[service])
          ),
          async (id) => {
            expectRefused(await scene.socket.send('get', service, id, {}), `get ${JSON.stringify(id)}`)
            for (const method of OFFERED[service]) {
              const args = method === 'patch' ? [patchOf(service), {}] : [{}]
              expectRefused(await scene.socket.send(method, service, id, ...args), `${method} ${JSON.stringify(id)}`)
            }
          }
        )
      })

      it(`J11: ${service}: what is not an id reaches no record of others in the query`, async function () {
        this.timeout(120_000)
        await holds(
          service,
          fc.oneof(
            hostileText(() => scene.ids[service]),
            hostileValue(() => scene.ids[service])
          ),
          async (id) => {
            for (const field of new Set([KEYS[service], 'session_id', 'worktree_id'])) {
              const query = { [field]: id }
              const headers = { authorization: `Bearer ${bob.token}` }
              const overRest = await rawRequest(scene.world.url, 'GET', `/${service}${queryString(query)}`, { headers })
              for (const answer of [overRest, await bobs.send('find', service, query)]) {
                expectNoInside(answer, JSON.stringify(query))
                if (answer.status === 200) expect(strangersIn(answer, service, bob), JSON.stringify(query)).to.deep.equal([])
                else expectRefused(answer, JSON.stringify(query))
              }
            }
          }
        )
      })
    }

    for (const { on, name, method, valid } of DOORS)
      it(`J11: ${on}/:id/${name}: what is not an id reaches and changes nothing, in a path or as a service on a socket`, async function () {
        this.timeout(120_000)
        await holds(
          on,
          hostileText(() => scene.ids[on]),
          async (id) => {
            const data = name === 'undo' ? { undo_token: scene.ids.sessions } : valid
            const path = `/${on}/${encodeURIComponent(id as string)}/${name}`
            const [verb, args] = method === 'create' ? (['POST', [data, {}]] as const) : (['GET', [{}]] as const)
            expectRefused(await scene.rest(verb, path, method === 'create' ? data : undefined), `${verb} ${path}`)
            const service = `${on}/${id as string}/${name}`
            expectRefused(await scene.socket.send(method, service, ...args), `${method} ${service}`)
          }
        )
      })

    for (const [door, field] of [
      ['undo', 'undo_token'],
      ['fork', 'worktree_id']
    ] as const)
      it(`J11: sessions/:id/${door}: what is not an id as ${field} makes and changes nothing`, async function () {
        this.timeout(120_000)
        const id = () => scene.ids.worktrees
        await holds('sessions', fc.oneof(hostileText(id), hostileValue(id)), async (value) => {
          const path = `sessions/${scene.ids.sessions}/${door}`
          const data = { ...(door === 'fork' && { at_seq: 1 }), [field]: value }
          expectRefused(await scene.rest('POST', `/${path}`, data), JSON.stringify(data))
          expectRefused(await scene.socket.send('create', path, data, {}), JSON.stringify(data))
        })
      })

    for (const [service, field] of REFERENCES)
      it(`J11: ${service}: a ${field} that is not an id makes and moves nothing`, async function () {
        this.timeout(120_000)
        const id = () => {
          const { worktrees: worktree_id, users: user_id, tasks: task_id, sessions: session_id } = scene.ids
          return { worktree_id, user_id, task_id }[field as string] ?? session_id
        }
        await holds(service, fc.oneof(hostileText(id), hostileValue(id)), async (value) => {
          // A message needs no task and a session no parent: null says so, which is also how JSON writes NaN.
          if (JSON.stringify(value) === 'null') return
          const data = { ...creation(service, scene), [field]: value }
          expectRefused(await scene.rest('POST', `/${service}`, data), JSON.stringify(data))
          expectRefused(await scene.socket.send('create', service, data, {}), JSON.stringify(data))
          const patch = { ...patchOf(service), [field]: value }
          expectRefused(await scene.rest('PATCH', `/${service}/${scene.ids[service]}`, patch), JSON.stringify(patch))
          expectRefused(await scene.socket.send('patch', service, scene.ids[service], patch, {}), JSON.stringify(patch))
        })
      })

    it('J11: percent-encoding an id of somebody else, and other ways to write a path, lead to nothing', async () => {
      const headers = { authorization: `Bearer ${bob.token}` }
      for (const service of SERVICES.filter((name) => name !== 'users'))
        for (const path of odd(service, scene.ids[service]))
          for (const [method, body] of [
            ['GET', undefined],
            ['PATCH', JSON.stringify(patchOf(service))],
            ['DELETE', undefined]
          ] as const) {
            const answer = await rawRequest(scene.world.url, method, path, { headers, ...(body && { body }) })
            expectRefused(answer, `${method} ${path}`)
          }
    })

    it('J11: a name that every object has is 404 anywhere in a path, and as a service on a socket', async () => {
      const { rest, socket, ids } = scene
      const found: string[] = []
      const expectAbsent = (answer: Answer, what: string) => {
        expectNoInside(answer, what)
        if (answer.status !== 404) found.push(`${what}: ${answer.status}`)
      }
      for (const name of INHERITED) {
        for (const path of [`/${name}`, `/${name}/${ids.sessions}`, `/sessions/${name}`, `/sessions/${ids.sessions}/${name}`])
          for (const [method, body] of [['GET'], ['POST', {}], ['PATCH', {}], ['DELETE']] as const)
            expectAbsent(await rest(method, path, body), `${method} ${path}`)
        expectAbsent(await socket.send('find', name, {}), `find ${name}`)
        expectAbsent(await socket.send('get', name, ids.sessions, {}), `get ${name}`)
        expectAbsent(await socket.send('create', name, {}, {}), `create ${name}`)
        expectAbsent(await socket.send('patch', name, ids.sessions, {}, {}), `patch ${name}`)
        expectAbsent(await socket.send('remove', name, ids.sessions, {}), `remove ${name}`)
      }
      expect(found).to.deep.equal([])
    })

    it('J11: what is not the name of a service or a method is refused on a socket, with a code, and ends nothing', async () => {
      for (const service of NO_SERVICES) {
        const answer = await scene.socket.send('get', service, scene.ids.sessions, {})
        if (answer.status !== 200) {
          expectRefused(answer, JSON.stringify(service))
          expect((answer.body['data'] as Body | undefined)?.['code'], JSON.stringify(service)).to.be.a('string')
        }
      }
      const { sessions: id } = scene.ids
      for (const args of [[null], [{}, {}, {}], ['sessions'], ['sessions', id, 5], ['sessions', id, 'x', 'y']])
        expectNoInside(await scene.socket.send('get', ...args), JSON.stringify(args))
      expect((await scene.socket.send('get', 'sessions', scene.ids.sessions, {})).status).to.equal(200)
    })
  })
})

/** The directory of users is everybody's; of the rest bob has nothing. */
function strangersIn({ body }: Answer, service: Service, bob: Person): unknown[] {
  if (service === 'users') return []
  return (body['data'] as Body[]).filter((row) => row['created_by'] !== bob.user_id)
}

function odd(service: string, id: string): string[] {
  const encoded = [...id].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  return [
    `/${service}/${encoded}`,
    `/${service}/%25${encoded.slice(1)}`,
    `/${service}/${id}/`,
    `/${service}//${id}`,
    `//${service}/${id}`,
    `/./${service}/${id}`,
    `/livez/../${service}/${id}`,
    `/livez/%2e%2e/${service}/${id}`,
    `/${service}%2f${id}`,
    `/${service}/${id}%2f`,
    `/${service}/${id}%00`,
    `/${service}/${id};a=b`,
    `/${service}/${id}/nonsense`,
    `/${service}/%ff`,
    `/${service}/%E0%A4%A`,
    `/${service}/${id}#x`,
    `/${service.toUpperCase()}/${id}`,
    `/${service}/x?id=${id}`,
    `/${service}/__proto__`
  ]
}
