import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { codeOf, queryString, rowsOf, type Answer, type Body, type Door } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { absentId, detailsOf, doorKeeper, withoutIds, type Call } from '../support/doors.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

describe('naming a parent that is not the record’s own', () => {
  eachDatabase((database) => {
    const open = doorKeeper()
    let world: World
    let [alice, bob]: Person[] = []
    let a: Place
    let b: Place
    let doors: Door[]

    before(async () => {
      world = await buildWorld((await database.start()).url)
      alice = await world.user('alice')
      bob = await world.user('bob')
      a = await placeOf(world, bob)
      b = await placeOf(world, alice)
      doors = await open(world.url, bob.token)
    })

    const stored = (place: Place) => snapshot(place.owner, place)

    for (const [service, idOf] of [
      ['messages', (p: Place) => p.message_id],
      ['tasks', (p: Place) => p.task_id]
    ] as const) {
      const change = service === 'messages' ? { content: 'taken over' } : { status: 'stopped' }

      it(`J1: one's own session_id in front of somebody else's ${service} opens nothing, and each try is one journal row`, async () => {
        const before = await stored(b)
        const mark = await world.journalEnd()
        const query = { query: { session_id: a.session_id } }
        const claim = { session_id: a.session_id }
        const calls: Call[] = [
          [service, 'get', idOf(b), query],
          [service, 'patch', idOf(b), change, query],
          [service, 'patch', idOf(b), { ...change, ...claim }],
          [service, 'patch', idOf(b), claim],
          [service, 'patch', idOf(b), { ...change, ...claim }, query],
          [service, 'remove', idOf(b), query]
        ]
        const answers: { answer: Answer; row: Expected }[] = []
        for (const door of doors)
          for (const call of calls) {
            const answer = await door.call(...call)
            expect([answer.status, codeOf(answer)], JSON.stringify(call)).to.deep.equal([404, 'not_found'])
            answers.push({ answer, row: refused(bob!, door, call, { claimed: a.session_id, actual: b.session_id }) })
          }

        expect((await world.journalSince(mark)).map(facts)).to.deep.equal(answers.map(({ row }) => row))
        const found = rowsOf(
          await world.root.rest.get(`/journal${queryString({ spoofed: true, after_seq: mark, $limit: 200, $sort: { seq: 1 } })}`)
        )
        expect(found.map((row) => row['id'])).to.deep.equal(answers.map(({ answer }) => detailsOf(answer)['decision_id']))
        expect(await stored(b)).to.deep.equal(before)
      })
    }

    it('J1: a task or a worktree of one’s own as the claimed parent opens nothing either', async () => {
      const before = await stored(b)
      const mark = await world.journalEnd()
      const rows: Expected[] = []
      for (const door of doors)
        for (const field of ['task_id', 'worktree_id'] as const) {
          const call: Call = ['messages', 'get', b.message_id, { query: { [field]: a[field] } }]
          expect((await door.call(...call)).status).to.equal(404)
          rows.push(refused(bob!, door, call, { claimed: a[field], actual: b[field] }))
        }
      expect((await world.journalSince(mark)).map(facts)).to.deep.equal(rows)
      expect(await stored(b)).to.deep.equal(before)
    })

    it('J1: where the path names the record, a session, task or worktree beside it is refused as unknown, and opens and changes nothing', async () => {
      const before = [await stored(a), await stored(b)]
      const mark = await world.journalEnd()
      const claims: Body[] = [{ session_id: a.session_id }, { task_id: a.task_id }, { worktree_id: a.worktree_id }]
      for (const door of doors)
        for (const place of [a, b])
          for (const [path, method, data] of nestedDoors(place))
            for (const claim of claims) {
              const calls: Call[] =
                method === 'find'
                  ? [[path, 'find', { query: claim }]]
                  : [
                      [path, 'create', data, { query: claim }],
                      // A fork may name another worktree: that is no claim about the session in its path.
                      ...(path.endsWith('/fork') && 'worktree_id' in claim
                        ? []
                        : [[path, 'create', { ...data, ...claim }] as Call])
                    ]
              for (const call of calls) {
                const answer = await door.call(...call)
                expect([answer.status, codeOf(answer)], JSON.stringify(call)).to.deep.equal([400, 'unknown_field'])
              }
            }
      expect(await world.journalSince(mark), 'a malformed request is no decision').to.deep.equal([])
      expect([await stored(a), await stored(b)]).to.deep.equal(before)
    })

    it('naming the true session of a record that one cannot see is not found, and not called spoofed', async () => {
      const mark = await world.journalEnd()
      for (const door of doors)
        expect((await door.call('messages', 'get', b.message_id, { query: { session_id: b.session_id } })).status).to.equal(404)
      expect((await world.journalSince(mark)).map(({ spoofed }) => spoofed)).to.deep.equal([false, false])
    })

    it('a wrong session in front of a record that one can see is 400 parent_mismatch, and in the journal', async () => {
      const before = await stored(a)
      const other = await world.session(bob!, a.worktree_id)
      const mark = await world.journalEnd()
      const query = { query: { session_id: other } }
      const rows: Expected[] = []
      const calls: Call[] = [
        ['messages', 'get', a.message_id, query],
        ['messages', 'patch', a.message_id, { content: 'x' }, query],
        ['messages', 'remove', a.message_id, query]
      ]
      for (const door of doors)
        for (const call of calls) {
          const answer = await door.call(...call)
          expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'parent_mismatch'])
          rows.push({ ...refused(bob!, door, call, { claimed: other, actual: a.session_id }), reason_code: 'parent_mismatch' })
        }
      expect((await world.journalSince(mark)).map(facts)).to.deep.equal(rows)
      expect(await stored(a)).to.deep.equal(before)
    })

    it('J2: one’s own message and task cannot be moved by a patch, wherever to', async () => {
      const before = [await stored(a), await stored(b)]
      const elsewhere = await placeOf(world, bob!)
      for (const door of doors)
        for (const target of [b, elsewhere, a, { session_id: absentId(), task_id: absentId(), worktree_id: absentId() }])
          for (const [service, id, field, change] of [
            ['messages', a.message_id, 'session_id', { content: 'moved' }],
            ['messages', a.message_id, 'task_id', { content: 'moved' }],
            ['messages', a.message_id, 'worktree_id', { content: 'moved' }],
            ['tasks', a.task_id, 'session_id', { status: 'stopped' }],
            ['tasks', a.task_id, 'worktree_id', { status: 'stopped' }]
          ] as const)
            for (const patch of [{ [field]: target[field] }, { ...change, [field]: target[field] }]) {
              const answer = await door.call(service, 'patch', id, patch)
              expect([answer.status, codeOf(answer)], `${service} ${JSON.stringify(patch)}`).to.deep.equal([
                400,
                'immutable_field'
              ])
            }
      expect([await stored(a), await stored(b)]).to.deep.equal(before)
    })

    it('J2: a message that names a task of another session is not made, alone or in a list', async () => {
      const before = await stored(a)
      const elsewhere = await placeOf(world, bob!)
      const naming = (task_id: string) => ({ session_id: a.session_id, role: 'assistant', content: 'x', task_id })
      for (const door of doors) {
        const absent = await door.call('messages', 'create', naming(absentId()))
        for (const data of [naming(b.task_id), [naming(a.task_id), naming(b.task_id)]]) {
          const answer = await door.call('messages', 'create', data)
          expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'not_found'])
          expect(withoutIds(answer)).to.deep.equal(withoutIds(absent))
        }
        const own = await door.call('messages', 'create', naming(elsewhere.task_id))
        expect([own.status, codeOf(own)]).to.deep.equal([400, 'parent_mismatch'])
      }
      expect(await stored(a)).to.deep.equal(before)
    })

    it('D5: the owner patches and removes a task and a message without naming a session; a stranger finds none', async () => {
      for (const door of await open(world.url, alice!.token)) {
        const mine = await placeOf(world, alice!)
        const calls: Call[] = [
          ['messages', 'patch', mine.message_id, { content: 'x' }],
          ['tasks', 'patch', mine.task_id, { status: 'stopped' }],
          ['messages', 'remove', mine.message_id],
          ['tasks', 'remove', mine.task_id]
        ]
        for (const call of calls) {
          for (const strangers of doors) expect((await strangers.call(...call)).status, JSON.stringify(call)).to.equal(404)
          expect((await door.call(...call)).status, JSON.stringify(call)).to.equal(200)
        }
      }
    })

    it('D6: nothing can be made in a session or worktree that one cannot see, whatever the query says', async () => {
      const before = await stored(b)
      const creations = (session_id: string, worktree_id: string): [string, Body][] => [
        ['messages', { session_id, role: 'user', content: 'x' }],
        ['tasks', { session_id, prompt: 'x' }],
        ['sessions', { worktree_id }],
        ['grants', { worktree_id, user_id: bob!.user_id, level: 'owner' }]
      ]
      for (const door of doors)
        for (const [index, [service, data]] of creations(b.session_id, b.worktree_id).entries()) {
          const absent = await door.call(service, 'create', creations(absentId(), absentId())[index]![1])
          const parent = 'session_id' in data ? { session_id: a.session_id } : { worktree_id: a.worktree_id }
          for (const params of [{}, { query: parent }]) {
            const answer = await door.call(service, 'create', data, params)
            expect([answer.status, codeOf(answer)], service).to.deep.equal([404, 'not_found'])
            expect(withoutIds(answer)).to.deep.equal(withoutIds(absent))
          }
        }
      expect(await stored(b)).to.deep.equal(before)
    })

    it('a session that is absent, or was removed, is not found or empty, and never an error of the daemon', async () => {
      const mine = await placeOf(world, bob!)
      await made(bob!.rest.del(`/sessions/${mine.session_id}`))
      for (const door of doors)
        for (const session_id of [absentId(), mine.session_id]) {
          const calls: Call[] = [
            ['sessions', 'get', session_id],
            ['messages', 'create', { session_id, role: 'user', content: 'x' }],
            ['tasks', 'create', { session_id, prompt: 'x' }],
            ...nestedDoors({ ...mine, session_id }).map(([path, method, data]): Call => [path, method, data])
          ]
          for (const call of calls) expect((await door.call(...call)).status, JSON.stringify(call)).to.equal(404)
          for (const service of ['messages', 'tasks'])
            expect((await door.call(service, 'find', { query: { session_id } })).body['total']).to.equal(0)
          expect(codeOf(await door.call('messages', 'get', a.message_id, { query: { session_id } }))).to.equal('parent_mismatch')
          expect(codeOf(await door.call('messages', 'get', b.message_id, { query: { session_id } }))).to.equal('not_found')
        }
      for (const door of doors)
        for (const [service, id] of [
          ['messages', mine.message_id],
          ['tasks', mine.task_id]
        ] as const)
          for (const method of ['get', 'remove'] as const)
            expect((await door.call(service, method, id)).status, `${service} ${method}`).to.equal(404)
    })
  })
})

interface Place {
  owner: Person
  worktree_id: string
  session_id: string
  task_id: string
  message_id: string
}

/** A worktree that nobody else sees, with a session, a task, and a message of that task. */
async function placeOf(world: World, owner: Person): Promise<Place> {
  const worktree_id = await world.worktree(owner)
  const session_id = await world.session(owner, worktree_id)
  const task_id = await world.task(owner, session_id)
  const message = await made(owner.rest.post('/messages', { session_id, task_id, role: 'user', content: 'hello' }))
  return { owner, worktree_id, session_id, task_id, message_id: text(message, 'message_id') }
}

function nestedDoors({ session_id, message_id }: Place): [path: string, method: 'create' | 'find', data: Body][] {
  return [
    [`sessions/${session_id}/fork`, 'create', { at_seq: 1 }],
    [`sessions/${session_id}/truncate`, 'create', { keep_count: 0 }],
    [`sessions/${session_id}/clear`, 'create', {}],
    [`sessions/${session_id}/undo`, 'create', { undo_token: absentId() }],
    [`sessions/${session_id}/compact`, 'create', { summary: 'x', keep_last: 0 }],
    [`sessions/${session_id}/context`, 'find', {}],
    [`sessions/${session_id}/export`, 'find', {}],
    [`messages/${message_id}/restore`, 'create', {}]
  ]
}

async function snapshot({ rest }: Person, { session_id, task_id, message_id, worktree_id }: Place): Promise<Body[]> {
  const paths = [
    `/sessions/${session_id}`,
    `/tasks/${task_id}`,
    `/messages/${message_id}`,
    `/worktrees/${worktree_id}`,
    `/grants?worktree_id=${worktree_id}`,
    `/messages?session_id=${session_id}`,
    `/tasks?session_id=${session_id}`
  ]
  return Promise.all(paths.map((path) => made(rest.get(path))))
}

type Expected = ReturnType<typeof facts>

function facts({ decision, reason_code, actor_id, action, transport, resource, spoofed }: JournalRecord) {
  return { decision: decision as string, reason_code, actor_id, action, transport, resource, spoofed }
}

function refused(
  actor: Person,
  { transport }: Door,
  [service, method, id]: Call,
  parents: { claimed: string; actual: string }
): Expected {
  const resource = { type: service.slice(0, -1), id: id as string, ...parents }
  return {
    decision: 'deny',
    reason_code: 'not_found',
    actor_id: actor.user_id,
    action: `${service}.${method}`,
    transport,
    resource,
    spoofed: true
  }
}
