import { queryString, rowsOf, type Body } from '../support/client.js'
import { made, type Person } from '../support/world.js'

export interface Exported {
  status: number
  text: string
  media_type: string
  disposition: string
}

/** The file as it is sent, and the two headers that say what it is. */
export async function exportOf(url: string, { token }: Person, session_id: string, format?: string): Promise<Exported> {
  const path = `/sessions/${session_id}/export${queryString({ format })}`
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
  return {
    status: response.status,
    text: await response.text(),
    media_type: response.headers.get('content-type') ?? '',
    disposition: response.headers.get('content-disposition') ?? ''
  }
}

/** The nth message of a long session: a string, an image, nothing beside tool calls, a tool call, its result, something unknown. */
export function nthMessage(session_id: string, nth: number): Body {
  const mark = markOf(nth)
  const of = (role: string, content: unknown, metadata?: Body) => ({ session_id, role, content, ...(metadata && { metadata }) })
  switch (nth % 6) {
    case 0:
      return of('user', `${mark} "quoted" \\ </script> # not a heading\n\`\`\`\n👩‍👩‍👧 שלום \u202e`)
    case 1:
      return of('user', [
        { type: 'text', text: mark },
        { type: 'image_url', image_url: { url: `https://example.com/${nth}.png`, detail: 'low' } }
      ])
    case 2:
      return of('assistant', null, { tool_calls: [{ id: `call ${nth}` }] })
    case 3:
      return of('assistant', [
        { type: 'text', text: mark },
        { type: 'tool_use', id: `use ${nth}`, name: 'read', input: { nth } }
      ])
    case 4:
      return of('tool', [{ type: 'tool_result', tool_use_id: `use ${nth - 1}`, content: [{ type: 'text', text: mark }] }])
    default:
      return of('assistant', [
        { type: 'from the future', b: nth, a: [null, 1.5] },
        { type: 'text', text: mark }
      ])
  }
}

/** A word that stands in that message only. */
export function markOf(nth: number): string {
  return `mark${String(nth).padStart(6, '0')}`
}

export async function appendList(person: Person, messages: Body[]): Promise<void> {
  await made(person.rest.post('/messages', messages))
}

/** All live messages of a session, page by page. */
export async function allMessages(person: Person, session_id: string): Promise<Body[]> {
  const all: Body[] = []
  for (let page: Body[] = [], after_seq = 0; ; after_seq = Number(page.at(-1)!['seq'])) {
    page = rowsOf(await person.rest.get(`/messages${queryString({ session_id, after_seq, $limit: 200 })}`))
    all.push(...page)
    if (page.length < 200) return all
  }
}

/** What an export must keep of a message, as text. */
export function essence({ message_id, seq, role, content, metadata, created_at, created_by }: Body): string {
  return JSON.stringify([message_id, seq, role, content, metadata, created_at, created_by])
}
