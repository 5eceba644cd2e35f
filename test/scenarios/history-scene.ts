import { expect } from 'chai'
import { queryString, rowsOf, type Answer, type Body, type Client } from '../support/client.js'
import { made, text } from '../support/world.js'

/** What is done to one session, by one caller. */
export type History = ReturnType<typeof historyOf>

export function historyOf(rest: Client, session_id: string) {
  const path = `/sessions/${session_id}`
  return {
    session_id,
    rest,

    record: (): Promise<Body> => made(rest.get(path)),

    /** One message, or a list of them, each as it is given or as the words of a user. */
    say: async (...messages: (string | Body)[]): Promise<Body[]> => {
      const list = messages.map((message) => ({ session_id, ...(typeof message === 'string' ? said(message) : message) }))
      return (await made(rest.post('/messages', list))) as unknown as Body[]
    },

    truncate: (keep_count: unknown): Promise<Answer> => rest.post(`${path}/truncate`, { keep_count }),
    clear: (): Promise<Answer> => rest.post(`${path}/clear`),
    undo: (undo_token: unknown): Promise<Answer> => rest.post(`${path}/undo`, { undo_token }),
    compact: (keep_last: unknown, more: Body = {}): Promise<Answer> =>
      rest.post(`${path}/compact`, { summary: 'what was said', keep_last, ...more }),
    fork: (at_seq: unknown, more: Body = {}): Promise<Answer> => rest.post(`${path}/fork`, { at_seq, ...more }),
    context: (query: Body = {}): Promise<Body> => made(rest.get(`${path}/context${queryString(query)}`)),

    transcript: (query: Body = {}): Promise<Body[]> => transcriptOf(rest, session_id, query),
    removed: (): Promise<Body[]> => removedOf(rest, session_id)
  }
}

/** The session's numbers are those of its rows, and its context is what the boundary leaves of them. Answers the rows. */
export async function expectSound({ record, context, transcript }: History): Promise<Body[]> {
  const [session, rows, shown] = [await record(), await transcript(), await context()]
  const seqs = rows.map(({ seq }) => Number(seq))
  expect(seqs, 'order').to.deep.equal([...new Set(seqs)].sort((a, b) => a - b))
  expect(session['message_count'], 'message_count of the session').to.equal(rows.length)
  expect(session['last_seq'], 'last_seq').to.be.at.least(seqs.at(-1) ?? 0)

  const boundary = Number(session['boundary_seq'])
  const messages = shown['messages'] as Body[]
  const boundaries = rows.filter(({ boundary_seq }) => boundary_seq !== null)
  const heads = boundaries.filter(({ boundary_seq }) => boundary_seq === boundary).map(essenceOf)
  if (boundary > 0) expect(heads, 'the boundary message').to.include(essenceOf(messages[0]!))
  else
    expect(
      boundaries.filter(({ boundary_seq }) => Number(boundary_seq) > 0),
      'no boundary'
    ).to.deep.equal([])
  const after = rows.filter(({ boundary_seq, seq }) => boundary_seq === null && Number(seq) > boundary)
  expect(messages.filter(({ boundary_seq }) => boundary_seq === null).map(essenceOf), 'the context').to.deep.equal(
    after.map(essenceOf)
  )
  expect(messages.filter(({ boundary_seq }) => boundary_seq !== null).length).to.be.at.most(1)

  const tokens = messages.reduce((sum, { tokens_estimated }) => sum + Number(tokens_estimated), 0)
  expect(
    [shown['boundary_seq'], shown['message_count'], shown['tokens_estimated'], shown['complete'], session['tokens_estimated']],
    'boundary_seq, message_count, tokens_estimated and complete of the context, and tokens_estimated of the session'
  ).to.deep.equal([boundary, messages.length, tokens, true, tokens])
  return rows
}

export const said = (content: unknown): Body => ({ role: 'user', content })
export const answered = (content: unknown): Body => ({ role: 'assistant', content })
export const calls = (...ids: string[]): Body =>
  answered(ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: { at: id } })))
export const results = (...ids: string[]): Body => ({
  role: 'tool',
  content: ids.map((tool_use_id) => ({ type: 'tool_result', tool_use_id, content: `seen ${tool_use_id}` }))
})

export const numbered = (count: number, from = 1): string[] =>
  Array.from({ length: count }, (_, index) => `message ${from + index}`)
export const contentsOf = (rows: unknown): unknown[] => (rows as Body[]).map(({ content }) => content)
export const seqsOf = (rows: unknown): unknown[] => (rows as Body[]).map(({ seq }) => seq)
export const tokenOf = (answer: Answer): string => text(answer.body, 'undo_token')

function essenceOf({ message_id, seq, role, content, metadata, boundary_seq, tokens_estimated }: Body): string {
  return JSON.stringify({ message_id, seq, role, content, metadata, boundary_seq, tokens_estimated })
}

async function transcriptOf(rest: Client, session_id: string, query: Body): Promise<Body[]> {
  const rows: Body[] = []
  for (let after_seq = 0; ; after_seq = Number(rows.at(-1)!['seq'])) {
    const answer = await rest.get(`/messages${queryString({ session_id, after_seq, $limit: PAGE, ...query })}`)
    expect(answer.body['total'], 'total').to.be.at.least(rowsOf(answer).length)
    rows.push(...rowsOf(answer))
    if (rowsOf(answer).length < PAGE) {
      expect(answer.body['total'], 'total of the last page').to.equal(rowsOf(answer).length)
      return rows
    }
  }
}

async function removedOf(rest: Client, session_id: string): Promise<Body[]> {
  const rows: Body[] = []
  for (;;) {
    const answer = await rest.get(`/removed-messages${queryString({ session_id, $limit: PAGE, $skip: rows.length })}`)
    rows.push(...rowsOf(answer))
    if (rowsOf(answer).length < PAGE) {
      expect(answer.body['total']).to.equal(rows.length)
      return rows.sort((a, b) => Number(a['seq']) - Number(b['seq']))
    }
  }
}

const PAGE = 200
