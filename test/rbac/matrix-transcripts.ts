import { absentId } from '../support/doors.js'
import { made, text } from '../support/world.js'
import { cell, inSessions, listCell, type Call, type Cell, type Fresh } from './matrix-cell.js'
import { AGENT, sessionFor, type Actor, type Place, type Scene } from './matrix-scene.js'

/** What is done to a session as a whole. What is allowed and changes it is done to a session of its own. */
export function transcriptCells(scene: Scene): Cell[] {
  return [...inSessions(scene)].flatMap(({ actor, place, spot: { session_id: record }, own, by }) => {
    const on = (id: string, door: string, data: object): Call => [`sessions/${id}/${door}`, 'create', data]
    const anew = (door: string, data: object) => async () => {
      const session_id = await sessionWithMessage(scene, own ? actor : scene.keeper, place)
      return { call: on(session_id, door, data), record: session_id }
    }
    const undo = async (): Promise<Fresh> => {
      const session_id = await sessionWithMessage(scene, own ? actor : scene.keeper, place)
      const cleared = await made(scene.keeper.rest.post(`/sessions/${session_id}/clear`))
      return { call: on(session_id, 'undo', { undo_token: text(cleared, 'undo_token') }), record: session_id }
    }
    const compact = async (): Promise<Fresh> => {
      const session_id = await sessionWithMessage(scene, own ? actor : scene.keeper, place)
      const token = by.credential === 'task_token' ? await tokenIn(scene, session_id, actor) : undefined
      return {
        call: on(session_id, 'compact', SUMMARY),
        made: [session_id, ...(token?.made ?? [])],
        ...(token && { token: token.token })
      }
    }
    const write = (action: string, door: string, data: object, fresh?: Cell['fresh']) =>
      cell({ action, own }, by, place, { call: on(record, door, data), record, ...(fresh && { fresh }) })
    const read = (action: string, door: string, query: object) =>
      cell({ action, own }, by, place, { call: [`sessions/${record}/${door}`, 'find', { query }], record })
    return [
      write('session-forks.create', 'fork', { at_seq: 1, title: 'new' }),
      write('session-truncations.create', 'truncate', { keep_count: 0 }, anew('truncate', { keep_count: 0 })),
      write('session-clears.create', 'clear', {}, anew('clear', {})),
      write('session-undos.create', 'undo', { undo_token: absentId() }, undo),
      write('session-compactions.create', 'compact', SUMMARY, compact),
      read('session-context.find', 'context', { $limit: 1 }),
      read('session-exports.find', 'export', { format: 'json' })
    ]
  })
}

/** What is left of a message that was removed. */
export function removedMessageCells(scene: Scene): Cell[] {
  return [...inSessions(scene)].flatMap(({ place, spot: { session_id, removed_id: record }, own, by }) => {
    const restore = (id: string): Call => [`messages/${id}/restore`, 'create', {}]
    const fresh = async (): Promise<Fresh> => {
      const id = await scene.world.message(scene.keeper, session_id)
      await made(scene.keeper.rest.del(`/messages/${id}`))
      return { call: restore(id), record: id }
    }
    return [
      listCell({ action: 'removed-messages.find', own }, by, place, { session_id, message_id: record }, record),
      cell({ action: 'removed-messages.get', own }, by, place, { call: ['removed-messages', 'get', record], record }),
      cell({ action: 'message-restores.create', own }, by, place, { call: restore(record), record, fresh })
    ]
  })
}

const SUMMARY = { summary: 'in short', keep_last: 0 }

async function sessionWithMessage({ world, keeper }: Scene, author: Actor | Scene['keeper'], place: Place): Promise<string> {
  const session_id = await sessionFor(AGENT, author, place.worktree_id)
  await world.message(keeper, session_id)
  return session_id
}

/** A task token of the actor that reaches into this session. */
async function tokenIn({ world, keeper }: Scene, session_id: string, actor: Actor): Promise<{ token: string; made: string[] }> {
  const task_id = await world.task(keeper, session_id)
  return { token: await world.taskToken(actor, task_id), made: [task_id] }
}
