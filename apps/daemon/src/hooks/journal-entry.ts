import type { Basis, Effect, JournalEntry } from '@stoa/core/journal/entry'
import type { ResourceType } from '@stoa/core/policy/actions'
import { effectiveLevel } from '@stoa/core/policy/levels'
import type { Deps } from '../deps.js'
import type { Access } from './access.js'

export interface Outcome {
  decision: 'allow' | 'deny'
  reason_code: string
  reason: string
  kind?: JournalEntry['kind']
  effect?: Effect
  /** The record, where it is not the one in the path: what a create made. */
  resource_type?: ResourceType
  resource_id?: string
  worktree_id?: string
  session_id?: string
}

/** What the journal says about a request: ids, names of fields and the facts of the decision, nothing that was typed. */
export function journalEntry(deps: Pick<Deps, 'now' | 'newId'>, access: Access, outcome: Outcome): JournalEntry {
  const { who, target, loaded } = access
  const claim = disagreeingClaim(access) ?? access.claims[0]
  return {
    id: deps.newId(),
    ts: deps.now().toISOString(),
    kind: outcome.kind ?? 'decision',
    decision: outcome.decision,
    reason_code: outcome.reason_code,
    reason: outcome.reason,
    actor_id: who?.actor.user_id ?? null,
    actor: who && { user_id: who.actor.user_id, role: who.actor.role },
    credential: who?.credential ?? null,
    action: access.action,
    service: access.service,
    method: access.method,
    transport: access.request.transport,
    resource_type: outcome.resource_type ?? access.resource,
    resource_id: outcome.resource_id ?? access.resource_id,
    worktree_id: outcome.worktree_id ?? target?.worktree?.worktree_id ?? null,
    session_id: outcome.session_id ?? target?.session?.session_id ?? null,
    claimed: claim?.value ?? null,
    actual: claim && loaded ? actualParent(access, claim.field) : null,
    spoofed: disagreeingClaim(access) !== undefined,
    basis: basisOf(access),
    trace: access.decision?.trace ?? [],
    effect: outcome.effect ?? null,
    version: null,
    request: { request_id: access.request.request_id, ip: access.request.ip }
  }
}

/** What the daemon does by itself, under a name and for a reason; nobody asked, so nobody's rights are in it. */
export function systemEntry(
  { now, newId }: Pick<Deps, 'now' | 'newId'>,
  {
    system,
    ...said
  }: { system: string } & Pick<JournalEntry, 'decision' | 'reason_code' | 'reason' | 'action' | 'resource_type' | 'effect'> &
    Partial<Pick<JournalEntry, 'resource_id' | 'worktree_id' | 'session_id' | 'trace'>>
): JournalEntry {
  const [service, method] = said.action.split('.') as [string, string]
  return {
    id: newId(),
    ts: now().toISOString(),
    kind: 'system',
    actor_id: null,
    actor: { system },
    credential: null,
    service,
    method,
    transport: 'internal',
    resource_id: null,
    worktree_id: null,
    session_id: null,
    claimed: null,
    actual: null,
    spoofed: false,
    basis: null,
    trace: [],
    version: null,
    request: { request_id: newId(), ip: null },
    ...said
  }
}

export function allowedEntry(
  deps: Pick<Deps, 'now' | 'newId'>,
  access: Access,
  effect: Effect,
  more: Partial<Outcome> = {}
): JournalEntry {
  return journalEntry(deps, access, {
    decision: 'allow',
    reason_code: 'allowed',
    reason: access.decision?.rule ?? 'scope',
    effect,
    ...more
  })
}

/** A parent that the caller named and the stored row contradicts. A record that does not exist contradicts nothing. */
export function disagreeingClaim(access: Access): Access['claims'][number] | undefined {
  if (!access.target?.exists) return undefined
  return access.claims.find((claim) => claim.value !== actualParent(access, claim.field))
}

function actualParent({ loaded }: Access, field: string): string | null {
  if (field === 'session_id') return (loaded?.session?.['session_id'] as string | undefined) ?? null
  if (field === 'worktree_id') return (loaded?.worktree?.['worktree_id'] as string | undefined) ?? null
  return (loaded?.record?.[field] as string | undefined) ?? null
}

function basisOf({ who, target, loaded, fields }: Access): Basis | null {
  if (!who || !target) return null
  return {
    role: who.actor.role,
    level: target.worktree && effectiveLevel(who.actor.role, target.grant, target.worktree.others_can),
    grant: target.grant,
    others_can: target.worktree?.others_can ?? null,
    own_session: target.session?.created_by === who.actor.user_id,
    fields,
    access_versions: { user: who.access_version, worktree: (loaded?.worktree?.['access_version'] as number | undefined) ?? null }
  }
}
