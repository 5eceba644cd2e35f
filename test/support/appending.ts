import { expect } from 'chai'
import { rowsOf, type Answer, type Body, type Client, type Door } from './client.js'
import { made } from './world.js'

/** Each door sends its messages one after the other, all doors at once. What each was answered, in the order it was sent. */
export function appendThrough(doors: Door[], session_id: string, each: number): Promise<Answer[][]> {
  return Promise.all(
    doors.map(async (door, sender) => {
      const answers: Answer[] = []
      for (let index = 0; index < each; index += 1)
        answers.push(await door.call('messages', 'create', { session_id, role: 'user', ...contentOf(session_id, sender, index) }))
      return answers
    })
  )
}

/** All were taken, the session holds exactly them, numbered without a gap, and each sender's in the order it sent them. */
export async function expectAppended(reader: Client, session_id: string, answers: Answer[][]): Promise<void> {
  const told = answers.flat().map(({ status, body }) => `${status} ${String(body['message'] ?? '')}`.trim())
  expect([...new Set(told)]).to.deep.equal(['201'])
  const sent = answers.flatMap((own, sender) => own.map((_, index) => contentOf(session_id, sender, index)))
  const found = await transcriptOf(reader, session_id)
  expect(found.map(({ seq }) => seq)).to.deep.equal(oneTo(sent.length))
  const held = found.map(({ content, client_message_id }) => `${String(client_message_id)} ${String(content)}`)
  expect(held.sort()).to.deep.equal(sent.map(({ content, client_message_id }) => `${client_message_id} ${content}`).sort())
  expect(found).to.deep.equal(answers.flatMap((own) => own.map(({ body }) => body)).sort(bySeq))
  for (const [sender, own] of answers.entries()) {
    expect(own.map(({ body }) => body['content'])).to.deep.equal(
      own.map((_, index) => contentOf(session_id, sender, index).content)
    )
    expect(own.map(({ body }) => body)).to.deep.equal(own.map(({ body }) => body).sort(bySeq))
  }
  expect(await transcriptOf(reader, session_id)).to.deep.equal(found)
  const { last_seq, message_count } = await made(reader.get(`/sessions/${session_id}`))
  expect([last_seq, message_count]).to.deep.equal([sent.length, sent.length])
}

/** All messages of a session, page by page, in the order they are given. */
export async function transcriptOf(reader: Client, session_id: string): Promise<Body[]> {
  const found: Body[] = []
  for (let after_seq = 0; ; after_seq = Number(found.at(-1)!['seq'])) {
    const page = rowsOf(await reader.get(`/messages?session_id=${session_id}&after_seq=${after_seq}&$limit=${PAGE}`))
    found.push(...page)
    if (page.length < PAGE) return found
  }
}

/** 1, 2, … n. */
export function oneTo(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index + 1)
}

const PAGE = 200

function contentOf(session_id: string, sender: number, index: number): { content: string; client_message_id: string } {
  return { content: `${session_id}: ${index} of ${sender}`, client_message_id: `${sender}-${index}` }
}

function bySeq(one: Body, other: Body): number {
  return Number(one['seq']) - Number(other['seq'])
}
