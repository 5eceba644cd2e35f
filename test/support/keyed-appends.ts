import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { oneTo, transcriptOf } from './appending.js'
import { codeOf, type Body, type Client } from './client.js'

/** One message, or a list of them, each part with its own client_message_id. */
export interface Append {
  key: string
  size: number
}

export interface Sent extends Append {
  /** 0: no answer. */
  status: number
  code: string | undefined
  ids: unknown[]
  /** Nobody can know whether it was written: it is there whole, or not at all. */
  open: boolean
}

/** An append that gets no answer because the daemon is gone, or hangs, is open. */
export async function send(rest: Client, session_id: string, { key, size }: Append): Promise<Sent> {
  const messages = partsOf({ key, size }).map((client_message_id) => ({
    session_id,
    role: 'user',
    content: `${client_message_id} ${'.'.repeat(TEXT)}`,
    client_message_id
  }))
  const late = new AbortController()
  const answer = await Promise.race([
    rest.post('/messages', size === 1 ? messages[0] : messages).catch(() => null),
    sleep(HANGS_MS, null, { signal: late.signal }).catch(() => null)
  ])
  late.abort()
  if (!answer) return { key, size, status: 0, code: 'no answer', ids: [], open: true }
  const written = Array.isArray(answer.body) ? (answer.body as Body[]) : [answer.body]
  return { key, size, status: answer.status, code: codeOf(answer), ids: written.map((one) => one['message_id']), open: false }
}

export function taken(sent: Sent[]): Sent[] {
  return sent.filter(({ status }) => status === 201)
}

export function notTaken(sent: Sent[]): Sent[] {
  return sent.filter(({ status }) => status !== 201)
}

/** All that was answered 201, nothing that was refused, no part of a list, no number missing. */
export async function expectExactly(rest: Client, session_id: string, sent: Sent[]): Promise<void> {
  const found = await transcriptOf(rest, session_id)
  expect(found.map(({ seq }) => seq)).to.deep.equal(oneTo(found.length))
  const there = new Set(found.map(({ client_message_id }) => client_message_id))
  const openAndThere = notTaken(sent).filter((one) => one.open && there.has(partsOf(one)[0]))
  const expected = [...taken(sent), ...openAndThere]
  expect(found.map(({ client_message_id }) => client_message_id).sort()).to.deep.equal(expected.flatMap(partsOf).sort())
  const places = new Map(found.map(({ message_id }, index) => [message_id, index]))
  for (const { key, ids } of taken(sent))
    expect(
      ids.map((id) => places.get(id)),
      `the messages of ${key}, one after the other`
    ).to.deep.equal(ids.map((_, part) => places.get(ids[0])! + part))
}

/** Each that was not answered 201 again, twice: it is made once, and the second time it is the same. */
export async function expectRetriesOnce(rest: Client, session_id: string, sent: Sent[]): Promise<void> {
  for (const one of notTaken(sent)) {
    const [first, second] = [await send(rest, session_id, one), await send(rest, session_id, one)]
    expect([first.status, second.status], one.key).to.be.deep.oneOf(
      one.open
        ? [
            [201, 200],
            [200, 200]
          ]
        : [[201, 200]]
    )
    expect(second.ids).to.deep.equal(first.ids)
  }
  await expectExactly(
    rest,
    session_id,
    sent.map((one) => ({ ...one, status: 201, ids: [] }))
  )
}

/** So that a few hundred fill a small disk. */
const TEXT = 4000
/** Longer than any wait of the daemon. */
const HANGS_MS = 25_000

function partsOf({ key, size }: Append): string[] {
  return oneTo(size).map((part) => `${key} ${part}`)
}
