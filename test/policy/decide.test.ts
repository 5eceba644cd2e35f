import { policies, type ResourceType } from '@stoa/core/policy/actions'
import { decide, type Actor, type Decision, type Target } from '@stoa/core/policy/decide'
import { scopeOf, type ScopeTerm } from '@stoa/core/policy/scope'
import { expect } from 'chai'
import fc from 'fast-check'
import { ACTIONS, COLUMNS, expected, type Question } from './oracle.js'

describe('decide', () => {
  it('knows exactly the actions of the table', () => {
    expect(Object.keys(policies)).to.have.members(ACTIONS)
  })

  it('J4: answers every action, level, role, owner, credential, field and reason as the table says', () => {
    const wrong = new Map<string, Question>()
    let cells = 0
    for (const question of everyQuestion()) {
      cells++
      const { code } = answer(question)
      if (code !== expected(question).code)
        wrong.set(`${question.action}: ${code}, not ${expected(question).code}, for example`, question)
    }
    expect(cells).to.be.above(100_000)
    expect(Object.fromEntries(wrong)).to.deep.equal({})
  }).timeout(60_000)

  it('lets nobody but an owner know that there is a tombstone, whatever is asked about it', () => {
    for (const question of everyQuestion()) {
      if (!/^(removed-)?message/.test(question.action)) continue
      const owns = question.role !== 'viewer' && (question.grant ?? question.others_can) === 'owner'
      const { visible } = answer(question, { type: 'removed_message' })
      if (visible !== owns) expect.fail(`${JSON.stringify(question)}: ${visible ? 'seen' : 'not seen'}`)
    }
  }).timeout(60_000)

  it('answers an absent record like one that cannot be seen', () => {
    for (const question of everyQuestion()) {
      const { allowed, visible, code } = answer(question, { exists: false })
      if (allowed || visible || code !== 'not_found') expect.fail(`${JSON.stringify(question)}: ${code}`)
    }
  }).timeout(60_000)

  it('refuses an action that the table does not have', () => {
    const unknown = [
      '',
      'sessions',
      'sessions.',
      'sessions.update',
      'Sessions.get',
      'toString',
      '__proto__',
      'constructor.get',
      'worktrees.get '
    ]
    for (const action of unknown) {
      const { allowed, visible, code } = answer({ ...QUESTION, action, role: 'admin', grant: 'owner', own: true })
      expect({ allowed, visible, code }, action).to.deep.equal({ allowed: false, visible: false, code: 'not_found' })
    }
  })

  it('names the smallest grant: it is enough, and nothing below it is', () => {
    for (const question of everyQuestion()) {
      const decision = answer(question)
      if (decision.allowed || !decision.visible || decision.code === 'token_scope') {
        expect(decision.smallest_grant).to.equal(null)
        continue
      }
      const enough = ladder(question).find((step) => answer({ ...question, ...step }).allowed)
      const named = decision.smallest_grant && { role: question.role, grant: question.grant, ...renamed(decision.smallest_grant) }
      expect(named, JSON.stringify(question)).to.deep.equal(enough ?? null)
    }
  }).timeout(60_000)

  it('never throws, whatever it is asked, and gives the rule, what it needs and what the caller has', () => {
    fc.assert(
      fc.property(anyActor, anyAction, anyTarget, anyIntent, (actor, action, target, intent) => {
        const decision = decide(actor, action, target, intent)
        expect(decision.allowed).to.equal(decision.code === 'allowed')
        if (ACTIONS.includes(action)) expect(decision.trace.every((step) => step.passed)).to.equal(decision.allowed)
        expect([decision.rule, decision.need, decision.have].every((part) => typeof part === 'string' && part !== '')).to.equal(
          true
        )
      }),
      { numRuns: 5_000 }
    )
  }).timeout(60_000)

  it('J5: a list holds exactly what the caller may get, in every world', () => {
    fc.assert(
      fc.property(anyWorld, ({ caller, records }) => {
        for (const service of LISTED) {
          const scope = scopeOf(caller, `${service}.find`)
          for (const target of records.filter((record) => record.type === TYPES[service])) {
            const listed =
              scope.anyOf.some((term) => holds(term, target)) &&
              (!scope.within || target.session?.session_id === scope.within.session_id)
            // A task token may get its worktree but has no list of worktrees.
            const method = caller.token && service === 'worktrees' ? 'find' : 'get'
            const { allowed } = decide(caller, `${service}.${method}`, target, { fields: [], reason: false })
            expect(listed, `${service} ${JSON.stringify({ caller, target })}`).to.equal(allowed)
          }
        }
      }),
      { numRuns: 3_000 }
    )
  }).timeout(60_000)
})

const ROLES = ['viewer', 'member', 'admin'] as const
const OTHERS = ['none', 'view', 'session', 'prompt', 'all'] as const
const GRANTS = [null, 'view', 'session', 'prompt', 'all', 'owner'] as const
const REACHES = ['task', 'session', 'worktree', 'elsewhere'] as const

const LISTED = ['users', 'api-keys', 'worktrees', 'grants', 'sessions', 'tasks', 'messages', 'removed-messages', 'journal']

/** What the record is that each service decides on. */
const TYPES: Record<string, ResourceType> = {
  authentication: 'token',
  users: 'user',
  'api-keys': 'api_key',
  worktrees: 'worktree',
  grants: 'grant',
  sessions: 'session',
  'session-forks': 'session',
  'session-truncations': 'session',
  'session-clears': 'session',
  'session-undos': 'session',
  'session-compactions': 'session',
  'session-context': 'session',
  'session-exports': 'session',
  tasks: 'task',
  'task-stops': 'task',
  'task-events': 'task',
  'task-tokens': 'task',
  messages: 'message',
  'message-revisions': 'message',
  'message-restores': 'removed_message',
  'removed-messages': 'removed_message',
  journal: 'journal_entry',
  leases: 'lease'
}

const IN_SESSION: readonly ResourceType[] = ['session', 'task', 'message', 'removed_message']

const QUESTION: Question = {
  action: 'sessions.get',
  role: 'member',
  grant: null,
  others_can: 'none',
  own: false,
  credential: 'access_token',
  reach: 'elsewhere',
  fields: [],
  reason: false
}

/** The whole matrix. */
function* everyQuestion(): Generator<Question> {
  for (const action of ACTIONS)
    for (const role of ROLES)
      for (const grant of GRANTS)
        for (const others_can of OTHERS)
          for (const own of [false, true])
            for (const { credential, reach } of credentials)
              for (const fields of fieldsOf(action))
                for (const reason of [false, true])
                  yield { action, role, grant, others_can, own, credential, reach, fields, reason }
}

const credentials = [
  { credential: 'access_token', reach: 'elsewhere' },
  { credential: 'api_key', reach: 'elsewhere' },
  { credential: 'executor_key', reach: 'elsewhere' },
  ...REACHES.map((reach) => ({ credential: 'task_token', reach }) as const)
] as const

/** Every combination of the fields with a rule of their own, with and without one that has none. */
function fieldsOf(action: string): string[][] {
  const special = { 'users.patch': ['email', 'role', 'active', 'password'], 'worktrees.patch': ['others_can'] }[action]
  return special ? subsets([...special, 'name']) : [[], ['name', '__proto__']]
}

function subsets(fields: string[]): string[][] {
  return fields.reduce<string[][]>((sets, field) => sets.flatMap((set) => [set, [...set, field]]), [[]])
}

/** Asks `decide` the oracle's question. */
function answer(question: Question, change: Partial<Target> = {}): Decision {
  const { action, role, grant, others_can, own, credential, reach, fields, reason } = question
  const caller = own ? 'caller' : 'somebody else'
  // A new worktree, a sign-in and a new lease have no parent but the daemon itself.
  const parentless = ['worktrees.create', 'authentication.create', 'leases.create'].includes(action)
  const type = parentless ? 'daemon' : (TYPES[action.split('.')[0]!] ?? 'daemon')
  const inWorktree = [...IN_SESSION, 'worktree', 'grant', 'journal_entry'].includes(type)
  const inSession = IN_SESSION.includes(type) && action !== 'sessions.create'
  const target: Target = {
    type,
    exists: true,
    worktree: inWorktree ? { worktree_id: 'worktree', others_can: others_can as Exclude<typeof others_can, 'owner'> } : null,
    grant: inWorktree ? (grant as Exclude<typeof grant, 'none'>) : null,
    session: inSession ? { session_id: 'session', created_by: caller } : null,
    task_id: type === 'task' && action !== 'tasks.create' ? 'task' : null,
    user_id: ['user', 'api_key', 'token', 'grant', 'lease'].includes(type) ? caller : null,
    ...change
  }
  const near = REACHES.indexOf(reach)
  const token = {
    task_id: near <= 0 ? 'task' : 'another task',
    session_id: near <= 1 ? 'session' : 'another session',
    worktree_id: near <= 2 ? 'worktree' : 'another worktree'
  }
  const actor: Actor = {
    user_id: 'caller',
    role,
    token: credential === 'task_token' ? token : null,
    ...(credential === 'executor_key' && { executor: true })
  }
  return decide(actor, action, target, { fields, reason })
}

/** What could be given to the caller, from the least: the level rises first, then the role. */
function ladder({ role, grant }: Question): Pick<Question, 'role' | 'grant'>[] {
  return ROLES.slice(ROLES.indexOf(role)).flatMap((higher) => [
    { role: higher, grant },
    ...COLUMNS.slice(1).map((level) => ({ role: higher, grant: level }))
  ])
}

function renamed({ level, role }: NonNullable<Decision['smallest_grant']>): Partial<Question> {
  return { ...(level && { grant: level }), ...(role && { role }) }
}

const anyId = fc.constantFrom('a', 'b', 'c')
const anyAction = fc.oneof(fc.constantFrom(...ACTIONS), fc.string())
const anyToken = fc.option(fc.record({ task_id: anyId, session_id: anyId, worktree_id: anyId }))
const anyScope = fc.constantFrom({}, { executor: true } as const)
const anyActor: fc.Arbitrary<Actor> = fc
  .record({ user_id: anyId, role: fc.constantFrom(...ROLES), token: anyToken, scope: anyScope })
  .map(({ scope, ...actor }) => ({ ...actor, ...scope }))
const anyIntent = fc.record({
  fields: fc.array(fc.oneof(fc.constantFrom('email', 'others_can', 'role'), fc.string())),
  reason: fc.boolean()
})
const anyTarget: fc.Arbitrary<Target> = fc.record({
  type: fc.constantFrom(...(Object.values(TYPES) as ResourceType[]), 'daemon' as const),
  exists: fc.boolean(),
  worktree: fc.option(fc.record({ worktree_id: anyId, others_can: fc.constantFrom(...OTHERS) })),
  grant: fc.constantFrom(...GRANTS),
  session: fc.option(fc.record({ session_id: anyId, created_by: anyId })),
  task_id: fc.option(anyId),
  user_id: fc.option(anyId)
})

/** A caller `a`, and records of every type as the database would load them for that caller. */
const anyWorld = fc
  .record({
    role: fc.constantFrom(...ROLES),
    token: anyToken,
    scope: anyScope,
    worktrees: fc.array(fc.record({ others_can: fc.constantFrom(...OTHERS), grant: fc.constantFrom(...GRANTS) }), {
      minLength: 3,
      maxLength: 3
    }),
    records: fc.array(fc.record({ worktree: fc.nat(2), session: anyId, created_by: anyId, task_id: anyId, user_id: anyId }), {
      maxLength: 12
    })
  })
  .map(({ role, token, scope, worktrees, records }) => ({
    caller: { user_id: 'a', role, token, ...scope } satisfies Actor,
    records: records.flatMap(({ worktree, session, created_by, task_id, user_id }) =>
      [...new Set(Object.values(TYPES))].map((type): Target => {
        const { others_can, grant } = worktrees[worktree]!
        const worktree_id = ['a', 'b', 'c'][worktree]!
        const ofPerson = ['user', 'api_key', 'token', 'lease'].includes(type)
        return {
          type,
          exists: true,
          worktree: ofPerson ? null : { worktree_id, others_can },
          grant: ofPerson ? null : grant,
          session: IN_SESSION.includes(type) ? { session_id: session, created_by } : null,
          task_id: type === 'task' ? task_id : null,
          user_id: ofPerson || type === 'grant' ? user_id : null
        }
      })
    )
  }))

/** What the SQL of each term selects. */
function holds(term: ScopeTerm, target: Target): boolean {
  switch (term.see) {
    case 'everything':
      return true
    case 'visible_worktrees':
      return target.grant !== null || (target.worktree !== null && target.worktree.others_can !== 'none')
    case 'owned_worktrees':
      return target.grant === 'owner'
    case 'own':
      return target.user_id === term.user_id
  }
}
