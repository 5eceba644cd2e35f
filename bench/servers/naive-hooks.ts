import { authenticate } from '@feathersjs/authentication'
import type { HookContext, Id, NextFunction } from '@feathersjs/feathers'
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'

type Row = Record<string, string | number | null>

/** The errors that the adapter throws: Feathers answers every other class with 500. */
const fromAdapter = createRequire(createRequire(import.meta.url).resolve('@feathersjs/knex'))
const { NotFound } = fromAdapter('@feathersjs/errors') as { NotFound: new (message: string) => Error }

const jwt = authenticate('jwt')

/** Calls from inside pass, as they do in most applications: the hooks below read through the same services. */
export async function signedIn(context: HookContext, next: NextFunction): Promise<void> {
  if (context.params.provider) await jwt(context)
  await next()
}

/** Record, session, worktree, grant: a service call and a query each, because each is one line. */
export async function authorizeNaively(context: HookContext, next: NextFunction): Promise<void> {
  if (!context.params.provider) return next()
  const { app, id, path, data, params } = context
  const record = (id === undefined ? data : await app.service(path).get(id as Id)) as Row
  const session = (await app.service('sessions').get(record['session_id'] as Id)) as Row
  const worktree = (await app.service('worktrees').get(session['worktree_id'] as Id)) as Row
  const user = params['user'] as Row
  const grants = (await app
    .service('grants')
    .find({ query: { worktree_id: worktree['worktree_id'], user_id: user['user_id'] }, paginate: false })) as Row[]
  const level = grants[0]?.['level'] ?? worktree['others_can']
  if (level === 'none') throw new NotFound(`No record found for id '${String(id)}'`)
  await next()
}

/** One row for each call, allowed or refused, through the service of the journal. */
export async function audit(context: HookContext, next: NextFunction): Promise<void> {
  if (!context.params.provider) return next()
  try {
    await next()
    await writeRow(context, 'allow')
  } catch (error) {
    if (error instanceof NotFound) await writeRow(context, 'deny')
    throw error
  }
}

export async function stampPatch({ data }: HookContext): Promise<void> {
  Object.assign(data as object, { updated_at: new Date().toISOString() })
}

let seq = 0

/** A number from the process: it costs nothing, and is wrong as soon as there are two processes. */
export async function stampMessage({ data, params }: HookContext): Promise<void> {
  const now = new Date().toISOString()
  seq += 1
  Object.assign(data as object, {
    message_id: randomUUID(),
    seq,
    created_at: now,
    created_by: (params['user'] as Row)['user_id'],
    updated_at: now
  })
}

async function writeRow({ app, path, method, id, params }: HookContext, decision: 'allow' | 'deny'): Promise<void> {
  const user = params['user'] as Row
  await app.service('journal').create({
    id: randomUUID(),
    ts: new Date().toISOString(),
    kind: 'decision',
    decision,
    reason_code: decision === 'allow' ? 'allowed' : 'not_found',
    reason: 'level',
    actor_id: user['user_id'],
    action: `${path}.${method}`,
    service: path,
    method,
    transport: 'rest',
    resource_type: path,
    resource_id: id ?? null,
    spoofed: false,
    trace: '[]',
    request: JSON.stringify({ request_id: randomUUID() })
  })
}
