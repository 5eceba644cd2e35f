import type { JournalRecord } from '@stoa/core/schema/journal'
import { expect } from 'chai'
import { client, type Answer, type Body } from '../support/client.js'
import { eachDatabase } from '../support/databases.js'
import { rawRequest } from '../support/raw-request.js'
import { openSocket } from '../support/socket.js'
import { buildWorld, made, text, type Person, type World } from '../support/world.js'

const ABSENT = '01890000-0000-7000-8000-000000000000'

describe('what one request writes into the journal', () => {
  eachDatabase((database) => {
    let world: World
    let alice: Person
    let bob: Person
    let carol: Person
    let worktree_id: string
    let session_id: string

    before(async () => {
      world = await buildWorld((await database.start()).url)
      ;[alice, bob, carol] = [await world.user('alice'), await world.user('bob'), await world.user('carol')]
      worktree_id = await world.worktree(alice)
      await world.grant(alice, worktree_id, bob, 'view')
      session_id = await world.session(alice, worktree_id)
    })

    /** Makes one call; it has this status, and these are all the rows it leaves, each named by the answer if there is one. */
    const expectRows = async (
      call: () => Promise<Answer>,
      status: number,
      expected: (answer: Answer) => Body[]
    ): Promise<Answer> => {
      const mark = await world.journalEnd()
      const answer = await call()
      const rows = await world.journalSince(mark)
      expect([answer.status, rows.map(essence)]).to.deep.equal([status, expected(answer)])
      for (const row of rows) expect(row.request['request_id']).to.equal(answer.headers.get('x-request-id'))
      if (rows.length === 1) expect(answer.headers.get('x-decision-id'), 'X-Decision-Id').to.equal(rows[0]!.id)
      if (status >= 400 && rows.length > 0) expect((answer.body['data'] as Body)['decision_id']).to.equal(rows[0]!.id)
      return answer
    }

    const of = (person: Person | null, row: Body): Body => ({
      kind: 'decision',
      decision: 'allow',
      reason_code: 'allowed',
      actor_id: person?.user_id ?? null,
      version: null,
      effect: null,
      ...row
    })
    const denied = (person: Person | null, reason_code: string, row: Body): Body =>
      of(person, { decision: 'deny', reason_code, ...row })
    const inSession = () => ({ worktree_id, session_id })
    const nowhere = { worktree_id: null, session_id: null }

    it('an allowed get: one row that says what was read', async () => {
      const task_id = await world.task(alice, session_id)
      await expectRows(
        () => bob.rest.get(`/tasks/${task_id}`),
        200,
        () => [of(bob, { action: 'tasks.get', resource: record('task', task_id), ...inSession(), effect: { change: 'read' } })]
      )
    })

    it('a find: one row with how many were answered, and none of their ids', async () => {
      const { body } = await expectRows(
        () => bob.rest.get(`/sessions?worktree_id=${worktree_id}`),
        200,
        ({ body }) => [
          of(bob, {
            action: 'sessions.find',
            resource: record('session', null),
            ...nowhere,
            effect: { change: 'listed', count: (body['data'] as Body[]).length }
          })
        ]
      )
      expect(body['total']).to.be.greaterThan(0)
      await expectRows(
        () => carol.rest.get(`/sessions?worktree_id=${worktree_id}`),
        200,
        () => [
          of(carol, {
            action: 'sessions.find',
            resource: record('session', null),
            ...nowhere,
            effect: { change: 'listed', count: 0 }
          })
        ]
      )
    })

    it('a create: one row with the new id, version 1 and the names of the fields', async () => {
      await expectRows(
        () => alice.rest.post('/tasks', { session_id, prompt: 'do it' }),
        201,
        ({ body }) => [
          of(alice, {
            action: 'tasks.create',
            resource: record('task', text(body, 'task_id')),
            ...inSession(),
            version: 1,
            effect: { change: 'created', fields: ['session_id', 'prompt'], after: { status: 'queued', attempt: 0 } }
          })
        ]
      )
      await expectRows(
        () => alice.rest.post('/sessions', { worktree_id }),
        201,
        ({ body }) => [
          of(alice, {
            action: 'sessions.create',
            resource: record('session', text(body, 'session_id')),
            worktree_id,
            session_id: body['session_id'],
            version: 1,
            effect: { change: 'created', fields: ['worktree_id'] }
          })
        ]
      )
    })

    it('a list of messages: one row for each of them, in their order', async () => {
      const messages = ['one', 'two', 'three'].map((content) => ({ session_id, role: 'user', content }))
      await expectRows(
        () => alice.rest.post('/messages', messages),
        201,
        ({ body }) =>
          (body as unknown as Body[]).map(({ message_id }) =>
            of(alice, {
              action: 'messages.create',
              resource: record('message', message_id),
              ...inSession(),
              version: 1,
              effect: { change: 'created', fields: ['session_id', 'role', 'content'] }
            })
          )
      )
    })

    it('a patch: one row with the version that it made; a repeat of a last report: one row that says nothing was written', async () => {
      const task_id = await world.task(alice, session_id)
      const row = (more: Body) => of(alice, { action: 'tasks.patch', resource: record('task', task_id), ...inSession(), ...more })
      const patch = (body: Body) => () => alice.rest.patch(`/tasks/${task_id}`, body)
      await expectRows(patch({ status: 'running', because: 'it was asked for' }), 200, () => [
        row({
          version: 2,
          effect: { change: 'patched', fields: ['status', 'because'], after: { status: 'running', attempt: 0 } }
        })
      ])
      await expectRows(patch({ status: 'completed' }), 200, () => [
        row({ version: 3, effect: { change: 'patched', fields: ['status'], after: { status: 'completed', attempt: 0 } } })
      ])
      await expectRows(patch({ status: 'completed' }), 200, () => [row({ effect: { change: 'read' } })])
    })

    it('a remove: one row', async () => {
      const message_id = await world.message(alice, session_id)
      await expectRows(
        () => alice.rest.del(`/messages/${message_id}`),
        200,
        () => [
          of(alice, {
            action: 'messages.remove',
            resource: record('message', message_id),
            ...inSession(),
            version: 2,
            effect: { change: 'removed' }
          })
        ]
      )
    })

    it('a call without a credential, or with a wrong one: one refusal of nobody', async () => {
      const refusal = denied(null, 'not_authenticated', { action: 'sessions.get', ...nowhere })
      for (const token of [undefined, 'stoa_pat_wrong', `${alice.token}x`]) {
        await expectRows(
          () => client(world.url, token).get(`/sessions/${session_id}`),
          401,
          () => [{ ...refusal, resource: record('session', null) }]
        )
      }
    })

    it('403, and 404 of what is invisible or absent: one refusal each, which names the record that was asked for', async () => {
      await expectRows(
        () => bob.rest.patch(`/sessions/${session_id}`, { title: 'mine' }),
        403,
        () => [
          denied(bob, 'level_too_low', { action: 'sessions.patch', resource: record('session', session_id), ...inSession() })
        ]
      )
      await expectRows(
        () => carol.rest.get(`/sessions/${session_id}`),
        404,
        () => [denied(carol, 'not_found', { action: 'sessions.get', resource: record('session', session_id), ...inSession() })]
      )
      await expectRows(
        () => carol.rest.get(`/sessions/${ABSENT}`),
        404,
        () => [denied(carol, 'not_found', { action: 'sessions.get', resource: record('session', ABSENT), ...nowhere })]
      )
    })

    it('409 and 412: one refusal with the code that was answered, and no allow row beside it', async () => {
      const task_id = await world.task(alice, session_id)
      const row = (code: string) =>
        denied(alice, code, { action: 'tasks.patch', resource: record('task', task_id), ...inSession() })
      await expectRows(
        () => alice.rest.patch(`/tasks/${task_id}`, { status: 'completed' }),
        409,
        () => [row('illegal_transition')]
      )
      await expectRows(
        () => alice.rest.patch(`/tasks/${task_id}`, { because: 'x' }, { 'if-match': '"9"' }),
        412,
        () => [row('version_conflict')]
      )
      await made(alice.rest.post('/messages', { session_id, role: 'user', content: 'first', client_message_id: 'c1' }))
      await expectRows(
        () => alice.rest.post('/messages', { session_id, role: 'user', content: 'other', client_message_id: 'c1' }),
        409,
        () => [denied(alice, 'duplicate', { action: 'messages.create', resource: record('message', null), ...inSession() })]
      )
    })

    it('a named parent that is not the record’s own: one refusal with both of them', async () => {
      const task_id = await world.task(alice, session_id)
      const other = await world.session(alice, worktree_id)
      const row = (code: string, action: string) =>
        denied(alice, code, {
          action,
          resource: { ...record('task', task_id), claimed: other, actual: session_id },
          ...inSession(),
          spoofed: true
        })
      await expectRows(
        () => alice.rest.get(`/tasks/${task_id}?session_id=${other}`),
        400,
        () => [row('parent_mismatch', 'tasks.get')]
      )
      await expectRows(
        () => alice.rest.patch(`/tasks/${task_id}`, { session_id: other, because: 'moved' }),
        400,
        () => [row('immutable_field', 'tasks.patch')]
      )
    })

    it('a malformed request, an unknown field, a method that is not offered and a body that is too large: no row', async () => {
      const none = () => []
      await expectRows(() => alice.rest.post('/tasks', { session_id }), 400, none)
      await expectRows(() => alice.rest.post('/tasks', { session_id, prompt: 'x', colour: 'red' }), 400, none)
      await expectRows(() => alice.rest.get('/tasks/not-an-id'), 400, none)
      await expectRows(() => alice.rest.put(`/sessions/${session_id}`, {}), 405, none)
      await expectRows(() => alice.rest.patch('/sessions', { title: 'all' }), 405, none)
      // Only announced: the answer does not wait for the nine megabytes.
      const headers = { authorization: `Bearer ${alice.token}`, 'content-length': String(9 * 1024 * 1024) }
      await expectRows(() => rawRequest(world.url, 'POST', '/messages', { headers, body: '{' }), 413, none)
    })

    it('truncating, clearing and undoing: one row of the session with its new version and how many messages it was', async () => {
      const id = await world.session(alice, worktree_id)
      for (let count = 0; count < 3; count += 1) await world.message(alice, id)
      const { version } = await made(alice.rest.get(`/sessions/${id}`))
      const row = (action: string, more: Body) =>
        of(alice, { action, resource: record('session', id), worktree_id, session_id: id, ...more })
      const changed = (count: number) => ({ effect: { change: 'patched', fields: ['message_count'], count } })
      const truncated = await expectRows(
        () => alice.rest.post(`/sessions/${id}/truncate`, { keep_count: 1 }),
        201,
        () => [row('session-truncations.create', { version: Number(version) + 1, ...changed(2) })]
      )
      await expectRows(
        () => alice.rest.post(`/sessions/${id}/clear`),
        201,
        () => [row('session-clears.create', { version: Number(version) + 2, ...changed(1) })]
      )
      const undo = () => alice.rest.post(`/sessions/${id}/undo`, { undo_token: truncated.body['undo_token'] })
      await expectRows(undo, 201, () => [row('session-undos.create', { version: Number(version) + 3, ...changed(2) })])
      await expectRows(undo, 404, () => [
        row('session-undos.create', { decision: 'deny', reason_code: 'not_found', effect: null })
      ])
      await expectRows(
        () => alice.rest.post(`/sessions/${id}/truncate`, { keep_count: 9 }),
        201,
        () => [row('session-truncations.create', { version: Number(version) + 4, ...changed(0) })]
      )
      expect((await made(alice.rest.get(`/sessions/${id}`)))['version']).to.equal(Number(version) + 4)
    })

    it('a compaction: one row of the message that it made; one that finds nothing to compact: one refusal', async () => {
      const id = await world.session(alice, worktree_id)
      await world.message(alice, id)
      const compact = () => alice.rest.post(`/sessions/${id}/compact`, { summary: 'in short', keep_last: 0 })
      await expectRows(compact, 201, ({ body }) => [
        of(alice, {
          action: 'session-compactions.create',
          resource: record('message', text(body, 'message_id')),
          worktree_id,
          session_id: id,
          version: 1,
          effect: { change: 'created', fields: ['content', 'boundary_seq'] }
        })
      ])
      const mark = await world.journalEnd()
      expect((await compact()).status).to.equal(409)
      const rows = await world.journalSince(mark)
      expect(rows.map(({ decision, reason_code, session_id }) => [decision, reason_code, session_id])).to.deep.equal([
        ['deny', 'nothing_to_compact', id]
      ])
    })

    it('a compaction that is refused names the session it was asked of, or no message: never the id of a session as that of a message', async () => {
      const mark = await world.journalEnd()
      expect((await bob.rest.post(`/sessions/${session_id}/compact`, { summary: null, keep_last: 0 })).status).to.equal(403)
      const [row, ...more] = await world.journalSince(mark)
      expect(more).to.deep.equal([])
      expect([row!.reason_code, row!.session_id]).to.deep.equal(['level_too_low', session_id])
      expect(`${row!.resource.type} ${row!.resource.id}`).to.be.oneOf(['message null', `session ${session_id}`])
    })

    it('a fork: one row of the new session that says from which, and one of the source when it leaves its worktree; a refused one names the session that was to be forked', async () => {
      const id = await world.session(alice, worktree_id)
      for (let count = 0; count < 2; count += 1) await world.message(alice, id)
      const other = await world.worktree(alice)
      for (const data of [{ at_seq: 2 }, { at_seq: 1, worktree_id: other }])
        await expectRows(
          () => alice.rest.post(`/sessions/${id}/fork`, data),
          201,
          ({ body }) => [
            of(alice, {
              action: 'session-forks.create',
              resource: record('session', text(body, 'session_id')),
              worktree_id: data.worktree_id ?? worktree_id,
              session_id: body['session_id'],
              version: 1,
              effect: { change: 'created', fields: Object.keys(data), count: data.at_seq, from: id }
            }),
            ...(data.worktree_id
              ? [
                  of(alice, {
                    action: 'session-forks.create',
                    resource: record('session', id),
                    worktree_id,
                    session_id: id,
                    version: null,
                    effect: { change: 'read' }
                  })
                ]
              : [])
          ]
        )
      const refused = (code: string) =>
        denied(bob, code, { action: 'session-forks.create', resource: record('session', id), worktree_id, session_id: id })
      const fork = (data: Body) => () => bob.rest.post(`/sessions/${id}/fork`, data)
      await expectRows(fork({ at_seq: 1 }), 403, () => [refused('level_too_low')])
      // Bob may create sessions in a worktree of his own, and may read this one; that is not enough to fork it.
      await expectRows(fork({ at_seq: 1, worktree_id: await world.worktree(bob) }), 403, () => [refused('level_too_low')])
    })

    it('the context and the export of a session: one row that says it was read', async () => {
      for (const [path, action] of [
        ['context', 'session-context.find'],
        ['context?$limit=0', 'session-context.find'],
        ['export', 'session-exports.find'],
        ['export?format=md', 'session-exports.find']
      ] as const) {
        const row = { action, resource: record('session', session_id), ...inSession() }
        await expectRows(
          () => bob.rest.get(`/sessions/${session_id}/${path}`),
          200,
          () => [of(bob, { ...row, effect: { change: 'read' } })]
        )
        await expectRows(
          () => carol.rest.get(`/sessions/${session_id}/${path}`),
          404,
          () => [denied(carol, 'not_found', row)]
        )
      }
    })

    it('tombstones that are listed, read and restored: one row each, and one refusal of who is no owner', async () => {
      const message_id = await world.message(alice, session_id)
      const { version } = await made(alice.rest.del(`/messages/${message_id}`))
      const row = (action: string, type: string, more: Body) => ({
        action,
        resource: record(type, message_id),
        ...inSession(),
        ...more
      })
      await expectRows(
        () => alice.rest.get(`/removed-messages?message_id=${message_id}`),
        200,
        () => [
          of(alice, {
            action: 'removed-messages.find',
            resource: record('removed_message', null),
            ...nowhere,
            effect: { change: 'listed', count: 1 }
          })
        ]
      )
      await expectRows(
        () => alice.rest.get(`/removed-messages/${message_id}`),
        200,
        () => [of(alice, row('removed-messages.get', 'removed_message', { effect: { change: 'read' } }))]
      )
      await expectRows(
        () => bob.rest.get(`/removed-messages/${message_id}`),
        404,
        () => [denied(bob, 'not_found', row('removed-messages.get', 'removed_message', {}))]
      )
      await expectRows(
        () => bob.rest.post(`/messages/${message_id}/restore`),
        404,
        () => [denied(bob, 'not_found', row('message-restores.create', 'message', {}))]
      )
      await expectRows(
        () => alice.rest.post(`/messages/${message_id}/restore`),
        201,
        () => [
          of(
            alice,
            row('message-restores.create', 'message', {
              version: Number(version) + 1,
              effect: { change: 'patched', fields: ['deleted_at'] }
            })
          )
        ]
      )
    })

    it('a pinned session that is to be removed: one refusal', async () => {
      const id = text(await made(alice.rest.post('/sessions', { worktree_id, pinned: true })), 'session_id')
      await expectRows(
        () => alice.rest.del(`/sessions/${id}`),
        409,
        () => [
          denied(alice, 'pinned', { action: 'sessions.remove', resource: record('session', id), worktree_id, session_id: id })
        ]
      )
    })

    it('signing in, failing to, and signing out: one row each', async () => {
      const signIn = (password: string) => () =>
        client(world.url).post('/authentication', { strategy: 'local', email: carol.email, password })
      const row = { kind: 'sign_in', action: 'authentication.create', ...nowhere }
      const { body } = await expectRows(signIn(carol.password), 201, () => [
        of(carol, { ...row, resource: record('token', ID), version: 1, effect: { change: 'created' } })
      ])
      await expectRows(signIn('not the password'), 401, () => [
        denied(null, 'not_authenticated', { ...row, kind: 'decision', resource: record('token', null) })
      ])
      await expectRows(
        () => client(world.url, text(body, 'accessToken')).del('/authentication'),
        200,
        () => [
          of(carol, {
            ...row,
            action: 'authentication.remove',
            resource: record('token', ID),
            version: 2,
            effect: { change: 'removed' }
          })
        ]
      )
    })

    it('reading the journal: one row each time, also of a reader who finds nothing', async () => {
      const [entry] = await world.journalSince(0)
      await expectRows(
        () => alice.rest.get(`/journal?worktree_id=${worktree_id}&$limit=1`),
        200,
        () => [
          of(alice, {
            action: 'journal.find',
            resource: record('journal_entry', null),
            ...nowhere,
            effect: { change: 'listed', count: 1 }
          })
        ]
      )
      await expectRows(
        () => carol.rest.get('/journal'),
        200,
        () => [
          of(carol, {
            action: 'journal.find',
            resource: record('journal_entry', null),
            ...nowhere,
            effect: { change: 'listed', count: 0 }
          })
        ]
      )
      await expectRows(
        () => carol.rest.get(`/journal/${entry!.id}`),
        404,
        () => [denied(carol, 'not_found', { action: 'journal.get', resource: record('journal_entry', entry!.id), ...nowhere })]
      )
    })

    it('the same over a socket: one row that says so', async () => {
      const door = await openSocket(world.url, bob.token)
      const mark = await world.journalEnd()
      await door.call('sessions', 'get', session_id)
      await door.call('sessions', 'patch', session_id, { title: 'mine' })
      door.close()
      expect(
        (await world.journalSince(mark)).map(({ action, decision, transport }) => [action, decision, transport])
      ).to.deep.equal([
        ['sessions.get', 'allow', 'socketio'],
        ['sessions.patch', 'deny', 'socketio']
      ])
    })
  })
})

/** A credential's id is nowhere in the answers, so only that there is one can be compared. */
const ID = 'an id'

function essence(journalRow: JournalRecord): Body {
  const { kind, decision, reason_code, actor_id, action, resource, worktree_id, session_id, version, effect, spoofed } =
    journalRow
  const id = resource.type === 'token' && resource.id !== null ? ID : resource.id
  return {
    kind,
    decision,
    reason_code,
    actor_id,
    action,
    resource: { ...resource, id },
    worktree_id,
    session_id,
    version,
    effect,
    ...(spoofed && { spoofed })
  }
}

function record(type: string, id: unknown): Body {
  return { type, id, claimed: null, actual: null }
}
