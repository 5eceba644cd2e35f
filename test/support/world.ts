import type { GrantLevel, OthersLevel, Role } from '@stoa/core/policy/levels'
import type { JournalRecord } from '@stoa/core/schema/journal'
import { client, queryString, rowsOf, type Answer, type Body, type Client } from './client.js'
import { ADMIN } from './daemon.js'

export interface Person {
  name: string
  user_id: string
  email: string
  password: string
  token: string
  /** Over REST, signed in with `token`. */
  rest: Client
}

export type World = Awaited<ReturnType<typeof buildWorld>>

/** Builds everything through the public API, as its users would; a step that does not succeed throws. */
export async function buildWorld(url: string) {
  const root = await signedIn(url, { name: 'root', ...ADMIN })

  return {
    url,
    root,

    async user(name: string, role: Role = 'member'): Promise<Person> {
      const email = `${name}@example.com`
      const password = `${name} has a long password`
      await made(root.rest.post('/users', { email, name, password, role }))
      return signedIn(url, { name, email, password })
    },

    /** A second access token of the same person. */
    signInAgain: (person: Person): Promise<Person> => signedIn(url, person),

    worktree: async (owner: Person, others_can: OthersLevel = 'none'): Promise<string> =>
      text(await made(owner.rest.post('/worktrees', { name: 'a worktree', others_can })), 'worktree_id'),

    grant: async (owner: Person, worktree_id: string, to: Person, level: GrantLevel): Promise<string> =>
      text(await made(owner.rest.post('/grants', { worktree_id, user_id: to.user_id, level })), 'grant_id'),

    session: async (author: Person, worktree_id: string): Promise<string> =>
      text(await made(author.rest.post('/sessions', { worktree_id, title: 'a session' })), 'session_id'),

    task: async (author: Person, session_id: string): Promise<string> =>
      text(await made(author.rest.post('/tasks', { session_id, prompt: 'do it' })), 'task_id'),

    message: async (author: Person, session_id: string, content = 'hello'): Promise<string> =>
      text(await made(author.rest.post('/messages', { session_id, role: 'user', content })), 'message_id'),

    apiKey: async (person: Person): Promise<{ api_key_id: string; secret: string }> => {
      const body = await made(person.rest.post('/api-keys', { name: 'a key' }))
      return { api_key_id: text(body, 'api_key_id'), secret: text(body, 'secret') }
    },

    taskToken: async (person: Person, task_id: string): Promise<string> =>
      text(await made(person.rest.post(`/tasks/${task_id}/token`)), 'token'),

    /** Where the journal ends now. */
    journalEnd: async (): Promise<number> => {
      const [last] = await journalPage(root, { $sort: { seq: -1 }, $limit: 1 })
      return last?.seq ?? 0
    },

    /** What was recorded after `seq`, oldest first, without our own reading of the journal. */
    journalSince: async (seq: number): Promise<JournalRecord[]> => {
      const rows: JournalRecord[] = []
      for (let after_seq = seq, page: JournalRecord[] = []; ; after_seq = page.at(-1)!.seq) {
        page = await journalPage(root, { after_seq, $sort: { seq: 1 }, $limit: PAGE })
        rows.push(...page)
        if (page.length < PAGE) break
      }
      return rows.filter((row) => !(row.service === 'journal' && row.actor_id === root.user_id))
    }
  }
}

/** The body of an answer that must be 2xx. */
export async function made(answer: Promise<Answer> | Answer): Promise<Body> {
  const { status, body } = await answer
  if (status < 200 || status > 299) throw new Error(`the world could not be built: ${status} ${JSON.stringify(body)}`)
  return body
}

export function text(body: Body, field: string): string {
  const value = body[field]
  if (typeof value !== 'string') throw new Error(`${field} is not a string in ${JSON.stringify(body)}`)
  return value
}

/** Calls `run` for each item, at most `width` at a time. */
export async function inParallel<T>(width: number, items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await run(item)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

const PAGE = 200

async function signedIn(
  url: string,
  { name, email, password }: { name: string; email: string; password: string }
): Promise<Person> {
  const body = await made(client(url).post('/authentication', { strategy: 'local', email, password }))
  const token = text(body, 'accessToken')
  return { name, user_id: text(body['user'] as Body, 'user_id'), email, password, token, rest: client(url, token) }
}

async function journalPage(root: Person, query: Body): Promise<JournalRecord[]> {
  return rowsOf(await root.rest.get(`/journal${queryString(query)}`)) as unknown as JournalRecord[]
}
