import type { Work } from '../work.js'
import type { World } from '../world.js'
import { words } from './world.js'

export interface ScaleWorld extends World {
  /** The messages of the first session, which is the long one. */
  messages: number
}

type Path = (world: ScaleWorld, n: number) => string

/** Whatever the size, each answers with as many rows. */
const paths: Record<string, Path> = {
  'messages, first page': (world) => messages(world, ''),
  'messages, in the middle': (world, n) => messages(world, `&after_seq=${Math.floor(world.messages / 2) + (n % 50)}`),
  'messages, before_seq at the end': (world, n) => messages(world, `&before_seq=${world.messages - (n % 50)}`),
  session: (world) => `/sessions/${long(world)}`,
  'context, status': (world) => `/sessions/${long(world)}/context?$limit=0`,
  'context, 50 newest': (world) => `/sessions/${long(world)}/context?$limit=50`,
  sessions: () => '/sessions?$limit=25',
  'sessions, by -updated_at': () => '/sessions?$limit=25&$sort[updated_at]=-1',
  'sessions, by worktree_id': () => '/sessions?$limit=25&$sort[worktree_id]=1',
  'search, a rare word': () => `/messages?$limit=25&search=${words.rare}`,
  'search, rare and common in the session': (world) =>
    `/messages?$limit=25&search=${words.rare}%20${words.some}&session_id=${long(world)}`,
  'search, in every message': () => `/messages?$limit=25&search=${words.every}`,
  'search, in every message of the session': (world) => `/messages?$limit=25&search=${words.every}&session_id=${long(world)}`
}

export const scaleWork: Work[] = Object.entries(paths).map(([title, path]) => ({
  name: title,
  title,
  status: 200,
  by: 'owner',
  request: (world, n) => ({ method: 'GET', path: path(world as ScaleWorld, n) })
}))

const long = ({ sessions }: World) => sessions[0]!

function messages(world: World, range: string): string {
  return `/messages?session_id=${long(world)}&$limit=50${range}`
}
