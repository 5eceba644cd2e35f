import { expected, expectedList, type Expectation, type Question } from '../policy/oracle.js'
import { type Body } from '../support/client.js'
import { type Actor, type Place, type Scene, type Spot } from './matrix-scene.js'

export interface Credential {
  actor: Actor
  credential: Question['credential']
  token: string | undefined
  reach: Question['reach']
}

export type Call = [path: string, method: string, ...args: unknown[]]

/** One call of one caller, and what has to come of it. */
export interface Cell extends Expectation {
  credential: Credential
  action: string
  call: Call
  /** The record that the call names, where it names one. */
  record?: string
  /** Makes a record of its own for a call that is allowed and uses it up; the call, and its record. */
  fresh?: () => Promise<Fresh>
  /** For lists: what must, or must not, be in the answer. */
  list?: { sees: boolean; id: string }
  /** The patch writes what was there before, so it may or may not count as a change. */
  same?: boolean
}

export interface Fresh {
  call: Call
  record?: string
  /** A credential of its own, where the call needs one. */
  token?: string
  /** What else the actor made on the way. */
  made?: string[]
}

/** The question to the oracle without what the credential says. */
type About = Pick<Question, 'action'> & Partial<Pick<Question, 'own' | 'fields' | 'reason'>>

function question(about: About, { actor, credential, reach }: Credential, place?: Place): Question {
  const { grant, others_can } = place ?? { grant: null, others_can: 'none' }
  return { own: false, fields: [], reason: false, ...about, role: actor.role, credential, reach, grant, others_can }
}

type Rest = Omit<Cell, keyof Expectation | 'credential' | 'action' | 'list'>

export function cell(about: About, credential: Credential, place: Place | undefined, rest: Rest): Cell {
  return { credential, action: about.action, ...rest, ...expected(question(about, credential, place)) }
}

export function listCell(about: About, credential: Credential, place: Place | undefined, query: Body, id: string): Cell {
  const { sees, ...expectation } = expectedList(question(about, credential, place))
  const call: Call = [about.action.split('.')[0]!, 'find', { query }]
  return { credential, action: about.action, call, ...expectation, list: { sees, id } }
}

/** A person's two credentials, the key of their executor, the given task tokens by how near they are, and, for one of the actors, none. */
function credentials(actor: Actor, tokens: Partial<Record<Question['reach'], string | undefined>>): Credential[] {
  return [
    { actor, credential: 'access_token', token: actor.token, reach: 'elsewhere' },
    { actor, credential: 'api_key', token: actor.key.secret, reach: 'elsewhere' },
    { actor, credential: 'executor_key', token: actor.executor.secret, reach: 'elsewhere' },
    ...Object.entries(tokens).map(([reach, token]) => ({ actor, credential: 'task_token', token, reach }) as Credential),
    ...(actor.role === 'member' ? [{ actor, credential: 'none', token: undefined, reach: 'elsewhere' } as const] : [])
  ]
}

/** Every actor in every place, with the tokens seen from the worktree itself. */
export function* inPlaces({
  actors,
  places
}: Scene): Generator<{ actor: Actor; place: Place; by: Credential; mine: string | undefined }> {
  for (const [index, place] of places.entries())
    for (const actor of Object.values(actors)) {
      const next = places[(index + 1) % places.length]!.own[actor.role].tokens[actor.role]
      const tokens = { worktree: place.own[actor.role].tokens[actor.role], elsewhere: next }
      for (const by of credentials(actor, tokens)) yield { actor, place, by, mine: place.grants[actor.role] }
    }
}

/** Every actor at every session, their own and a foreign one, with the tokens seen from that session. */
export function* inSessions({
  actors,
  places
}: Scene): Generator<{ actor: Actor; place: Place; spot: Spot; own: boolean; by: Credential }> {
  for (const [index, place] of places.entries())
    for (const actor of Object.values(actors))
      for (const own of [false, true]) {
        const [spot, otherSpot] = own ? [place.own[actor.role], place.foreign] : [place.foreign, place.own[actor.role]]
        const next = places[(index + 1) % places.length]!.own[actor.role]
        const tokens = {
          session: spot.tokens[actor.role],
          worktree: otherSpot.tokens[actor.role],
          elsewhere: next.tokens[actor.role]
        }
        for (const by of credentials(actor, tokens)) yield { actor, place, spot, own, by }
      }
}

/** For what belongs to no worktree: every actor with every kind of credential. */
export function anywhere({ actors, places }: Scene): Credential[] {
  return Object.values(actors).flatMap((actor) =>
    credentials(actor, { elsewhere: places[0]!.own[actor.role].tokens[actor.role] })
  )
}

/** A worktree of its own in which the actor has the level of the place. */
export async function likePlace(
  { world, keeper }: Scene,
  { grant, others_can }: Place,
  actor: Actor,
  withoutGrant = false
): Promise<string> {
  const worktree_id = await world.worktree(keeper, others_can)
  if (grant && !withoutGrant) await world.grant(keeper, worktree_id, actor, grant)
  return worktree_id
}

let counter = 0
export const unique = () => `change ${++counter}`
