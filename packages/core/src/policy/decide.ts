import type { SessionId, TaskId, UserId, WorktreeId } from '../ids.js'
import { policyOf, visibility, type Policy, type ResourceType, type Rule } from './actions.js'
import { LEVELS, ROLES, effectiveLevel, levelReaches, roleReaches } from './levels.js'
import type { GrantLevel, Level, OthersLevel, Role } from './levels.js'

export interface Actor {
  user_id: UserId
  role: Role
  /** Set when the credential is a task token: the right is then the person's, cut to this. */
  token: { task_id: TaskId; session_id: SessionId; worktree_id: WorktreeId } | null
  /** Set when the credential is an executor's key: it leases tasks, and does nothing else. */
  executor?: true
}

/** What was loaded from the database for this request. Nothing in it comes from the caller. */
export interface Target {
  type: ResourceType
  exists: boolean
  worktree: { worktree_id: WorktreeId; others_can: OthersLevel } | null
  /** The caller's own grant on that worktree. */
  grant: GrantLevel | null
  session: { session_id: SessionId; created_by: UserId } | null
  task_id: TaskId | null
  /** Whose record it is, for what belongs to a person. */
  user_id: UserId | null
}

/** What the caller wants to change: field names only, and whether a reason was given. */
export interface Intent {
  fields: readonly string[]
  reason: boolean
}

export type DecisionCode = 'allowed' | 'not_found' | 'level_too_low' | 'role_too_low' | 'token_scope' | 'not_owner'

export interface TraceStep {
  check: string
  need: string
  have: string
  passed: boolean
}

export interface Decision {
  allowed: boolean
  visible: boolean
  code: DecisionCode
  /** The rule that allowed it, or the one that was missed. */
  rule: string
  need: string
  have: string
  trace: TraceStep[]
  /** The least that would have to be given to the caller; null when no grant and no role would do. */
  smallest_grant: { level?: GrantLevel; role?: Role } | null
}

/**
 * The one decision. Pure and total: no clock, no I/O, and an action without a policy entry is refused.
 * Every door asks it: REST, sockets, and lists through scope.
 */
export function decide(actor: Actor, action: string, target: Target, intent: Intent): Decision {
  const policy = policyOf(action)
  if (!policy) {
    const missing = { check: 'policy', need: 'an entry', have: 'none', passed: false }
    return refusal('not_found', false, missing, [missing])
  }

  const trace: TraceStep[] = []
  const visible = target.exists && passesAny(visibility[target.type], actor, target, intent) !== null
  trace.push({ check: 'visible', need: describeRules(visibility[target.type]), have: standing(actor, target), passed: visible })
  if (!visible) return refusal('not_found', false, trace[0]!, trace)

  const tokenStep = checkExecutor(policy, actor) ?? checkToken(policy, actor, target)
  if (tokenStep) {
    trace.push(tokenStep)
    if (!tokenStep.passed) return refusal('token_scope', true, tokenStep, trace)
  }

  for (const { check, rules } of requirements(policy, intent)) {
    const passed = passesAny(rules, actor, target, intent)
    const step = {
      check,
      need: passed ? describeRule(passed, actor, target) : describeRule(rules[0]!, actor, target),
      have: standing(actor, target, passed ?? rules[0]!),
      passed: passed !== null
    }
    trace.push(step)
    if (!passed) {
      return {
        ...refusal(missedCode(rules, actor, target, intent), true, step, trace),
        smallest_grant: smallestGrant(actor, action, target, intent)
      }
    }
  }
  const last = trace.at(-1)!
  return {
    allowed: true,
    visible: true,
    code: 'allowed',
    rule: last.check,
    need: last.need,
    have: last.have,
    trace,
    smallest_grant: null
  }
}

/** The action's own requirement first, then those of the fields it touches; all must pass. */
function requirements(policy: Policy, intent: Intent): { check: string; rules: Rule[] }[] {
  const fields = intent.fields.filter((field) => policy.fields && Object.hasOwn(policy.fields, field))
  return [
    { check: policy.anyOf.map(ruleName).join('|'), rules: policy.anyOf },
    ...fields.map((field) => ({
      check: `${field}:${policy.fields![field]!.map(ruleName).join('|')}`,
      rules: policy.fields![field]!
    }))
  ]
}

function passesAny(rules: readonly Rule[], actor: Actor, target: Target, intent: Intent): Rule | null {
  return rules.find((rule) => passes(rule, actor, target, intent)) ?? null
}

function passes(rule: Rule, actor: Actor, target: Target, intent: Intent): boolean {
  switch (rule.by) {
    case 'anyone':
    case 'signed_in':
      return true
    case 'self':
      return target.user_id === actor.user_id
    case 'role':
      return roleReaches(actor.role, rule.role)
    case 'level':
      return levelReaches(levelOf(actor, target), neededLevel(rule, actor, target))
    case 'break_glass':
      return actor.role === 'admin' && target.user_id === actor.user_id && intent.reason
  }
}

function levelOf(actor: Actor, target: Target): Level {
  return target.worktree ? effectiveLevel(actor.role, target.grant, target.worktree.others_can) : 'none'
}

function neededLevel(rule: Rule & { by: 'level' }, actor: Actor, target: Target): Level {
  return rule.own && target.session?.created_by === actor.user_id ? rule.own : rule.level
}

/** An executor's key is for leases, and leases are for an executor's key. What is open to anyone is open to it too. */
function checkExecutor({ executor, anyOf }: Policy, actor: Actor): TraceStep | null {
  if (executor === actor.executor || anyOf.some(({ by }) => by === 'anyone')) return null
  return {
    check: 'scope',
    need: executor ? 'an API key with the scope executor' : 'a credential of a person',
    have: actor.executor ? 'the key of an executor' : 'a credential of a person',
    passed: false
  }
}

/** What is open to anyone is open to a token too. */
function checkToken({ token: reach, anyOf }: Policy, actor: Actor, target: Target): TraceStep | null {
  if (!actor.token || anyOf.some(({ by }) => by === 'anyone')) return null
  const { task_id, session_id, worktree_id } = actor.token
  const within =
    (reach === 'task' && target.task_id === task_id) ||
    (reach === 'session' && target.session?.session_id === session_id) ||
    (reach === 'worktree' && target.worktree?.worktree_id === worktree_id)
  return {
    check: 'token',
    need: reach ? `a token of this ${reach}` : 'a credential of a person',
    have: `the token of task ${task_id}`,
    passed: within
  }
}

function missedCode(rules: readonly Rule[], actor: Actor, target: Target, intent: Intent): DecisionCode {
  const level = rules.find((rule) => rule.by === 'level')
  if (!level) return 'role_too_low'
  const asMember: Actor = { ...actor, role: actor.role === 'viewer' ? 'member' : actor.role }
  if (passes(level, asMember, target, intent)) return 'role_too_low'
  return level.level === 'owner' ? 'not_owner' : 'level_too_low'
}

/** The first that passes, from the least: the same role with rising levels, then the next role. */
function smallestGrant(actor: Actor, action: string, target: Target, intent: Intent): Decision['smallest_grant'] {
  const grants: (GrantLevel | null)[] = [null, ...LEVELS.filter((level): level is GrantLevel => level !== 'none')]
  for (const role of ROLES.slice(ROLES.indexOf(actor.role))) {
    for (const level of target.worktree ? grants : [null]) {
      if (!suffices({ ...actor, role }, action, { ...target, grant: level ?? target.grant }, intent)) continue
      return { ...(level && { level }), ...(role !== actor.role && { role }) }
    }
  }
  return null
}

function suffices(actor: Actor, action: string, target: Target, intent: Intent): boolean {
  return requirements(policyOf(action)!, intent).every(({ rules }) => passesAny(rules, actor, target, intent) !== null)
}

function refusal(code: DecisionCode, visible: boolean, missed: TraceStep, trace: TraceStep[]): Decision {
  return { allowed: false, visible, code, rule: missed.check, need: missed.need, have: missed.have, trace, smallest_grant: null }
}

function ruleName(rule: Rule): string {
  switch (rule.by) {
    case 'level':
      return `level.${rule.level}`
    case 'role':
      return `role.${rule.role}`
    default:
      return rule.by
  }
}

function describeRules(rules: readonly Rule[]): string {
  return rules.map((rule) => (rule.by === 'level' ? rule.level : rule.by === 'role' ? rule.role : rule.by)).join(' or ')
}

function describeRule(rule: Rule, actor: Actor, target: Target): string {
  if (rule.by === 'level') return neededLevel(rule, actor, target)
  return rule.by === 'role' ? rule.role : rule.by
}

/** What the caller has, in the words of the rule that was looked at: a level on the worktree, or else the role. */
function standing(actor: Actor, target: Target, rule?: Rule): string {
  if (rule && rule.by !== 'level') return actor.role
  return target.worktree ? levelOf(actor, target) : actor.role
}
