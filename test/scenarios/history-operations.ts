import fc from 'fast-check'
import type { Answer, Body, Client } from '../support/client.js'

/** One thing that is done to one of the sessions. Numbers pick among what is known by then. */
export type Operation = { on: number } & (
  | { do: 'append'; texts: string[] }
  | { do: 'repeat'; client: number }
  | { do: 'edit'; pick: number; text: string }
  | { do: 'remove' | 'restore' | 'undo'; pick: number }
  | { do: 'truncate'; keep: number }
  | { do: 'clear' | 'delete' }
  | { do: 'compact'; keep: number; behind: number; summary: string | null }
  | { do: 'fork'; at: number }
)

/** What whoever does it knows of a session. */
export interface Known {
  session_id: string
  /** Of every message that was accepted, in the order of the answers. */
  ids: string[]
  /** To undo with, used ones too. */
  tokens: string[]
  last_seq: number
}

export const operations: fc.Arbitrary<Operation> = fc.oneof(
  weighed(8, { do: fc.constant('append' as const), texts: fc.array(words(), { minLength: 1, maxLength: 4 }) }),
  weighed(2, { do: fc.constant('repeat' as const), client: fc.nat(2) }),
  weighed(3, { do: fc.constant('edit' as const), pick: fc.nat(), text: words() }),
  weighed(3, { do: fc.constant('remove' as const), pick: fc.nat() }),
  weighed(2, { do: fc.constant('restore' as const), pick: fc.nat() }),
  weighed(2, { do: fc.constant('undo' as const), pick: fc.nat() }),
  weighed(2, { do: fc.constant('truncate' as const), keep: fc.nat(12) }),
  weighed(1, { do: fc.constant('clear' as const) }),
  weighed(3, {
    do: fc.constant('compact' as const),
    keep: fc.nat(4),
    behind: fc.nat(5),
    summary: fc.option(words(), { freq: 3 })
  }),
  weighed(2, { do: fc.constant('fork' as const), at: fc.nat(20) }),
  weighed(1, { do: fc.constant('delete' as const) })
)

/** Does it, or nothing where there is nothing to pick from. */
export async function perform(rest: Client, known: Known, operation: Operation): Promise<Answer | null> {
  const { session_id } = known
  const path = `/sessions/${session_id}`
  const message = (content: string, more: Body = {}) => ({ session_id, role: 'user', content, ...more })
  switch (operation.do) {
    case 'append':
      return rest.post(
        '/messages',
        operation.texts.length > 1 ? operation.texts.map((text) => message(text)) : message(operation.texts[0]!)
      )
    case 'repeat':
      return rest.post('/messages', message(`said by ${operation.client}`, { client_message_id: clientId(operation.client) }))
    case 'edit':
      return picked(known.ids, operation.pick, (id) => rest.patch(`/messages/${id}`, { content: operation.text }))
    case 'remove':
      return picked(known.ids, operation.pick, (id) => rest.del(`/messages/${id}`))
    case 'restore':
      return picked(known.ids, operation.pick, (id) => rest.post(`/messages/${id}/restore`))
    case 'undo':
      return picked(known.tokens, operation.pick, (undo_token) => rest.post(`${path}/undo`, { undo_token }))
    case 'truncate':
      return rest.post(`${path}/truncate`, { keep_count: operation.keep })
    case 'clear':
      return rest.post(`${path}/clear`)
    case 'compact':
      return rest.post(`${path}/compact`, {
        summary: operation.summary,
        keep_last: operation.keep,
        ...(operation.behind > 0 && { last_seq: summarized(known, operation.behind) })
      })
    case 'fork':
      return rest.post(`${path}/fork`, { at_seq: operation.at })
    case 'delete':
      return rest.del(path)
  }
}

export const clientId = (client: number): string => `client ${client}`
export const summarized = ({ last_seq }: { last_seq: number }, behind: number): number => Math.max(1, last_seq - behind)
export const at = <T>(list: readonly T[], pick: number): T | undefined => list[pick % list.length]

function picked(list: string[], pick: number, call: (value: string) => Promise<Answer>): Promise<Answer> | null {
  const value = at(list, pick)
  return value === undefined ? null : call(value)
}

function weighed<T>(weight: number, fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
  return { weight, arbitrary: fc.record({ on: fc.nat(), ...fields }) as unknown as fc.Arbitrary<Operation> }
}

function words(): fc.Arbitrary<string> {
  return fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.includes('\0'))
}
