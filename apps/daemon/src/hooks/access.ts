import type { HookContext } from '@feathersjs/feathers'
import type { Transport } from '@stoa/core/journal/entry'
import type { ResourceType } from '@stoa/core/policy/actions'
import type { Decision, Target } from '@stoa/core/policy/decide'
import type { ShownCredential, Who } from '../auth/who.js'
import type { LoadedAccess } from '../db/queries/load-access.js'
import type { RecordParams } from '../db/record-service.js'

/** One request on its way: filled in step by step by the hooks, read by the class and by the journal. */
export interface Access {
  readonly request: { request_id: string; ip: string | null; transport: Transport; started: number }
  readonly action: string
  readonly service: string
  readonly method: string
  readonly resource: ResourceType
  /** The credential as it was shown: verified by signature or parsed, not yet looked up. */
  shown: ShownCredential | null
  /** The id in the path, when it is one. */
  resource_id: string | null
  /** Parents that the caller named, in the body or the query. */
  claims: Claim[]
  /** Names of the fields that the caller wants to set, and of those that are immutable. */
  fields: string[]
  immutable: string[]
  reason: boolean
  ifMatch: number | null
  who: Who | null
  loaded: LoadedAccess | null
  target: Target | null
  decision: Decision | null
  /** The journal row of what was allowed. */
  decision_id: string | null
  /** The request was a repeat of one that is done: nothing was written, the first answer is given again. */
  repeated: boolean
  /** Loads and decides again, for a unit that no longer held; throws when the answer is now a refusal. */
  renew(): Promise<void>
}

export interface Claim {
  field: string
  value: string
  from: 'data' | 'query'
}

export interface StoaParams extends RecordParams {
  access?: Access
  ip?: string
  /** The caller has hung up: what is still to be handed out would reach nobody. */
  isGone?: () => boolean
  authentication?: { strategy: string; accessToken?: string }
  connection?: Record<string, unknown>
  headers?: Record<string, string>
  route?: Record<string, string>
}

export type Context = HookContext & { params: StoaParams }

/** The hooks run in the order of the pipeline, so a step that comes later finds what an earlier one has set. */
export function accessOf(params: StoaParams | undefined): Access {
  if (!params?.access) throw new Error('the request pipeline did not run for this call')
  return params.access
}
