import type { AroundHookFunction } from '@feathersjs/feathers'
import type { Deps } from '../deps.js'
import { authenticate } from './authenticate.js'
import { authorize } from './authorize.js'
import { errorBoundary } from './error-boundary.js'
import { recordRead } from './record-read.js'
import { recordRefusal } from './record-refusal.js'
import { requestContext } from './request-context.js'
import { scopeList } from './scope-list.js'
import { validate, type ValidateOptions } from './validate.js'

export interface PipelineOptions extends ValidateOptions {
  /** The name that the service has in the policy. */
  service: string
  /** The load step: loadSessionWorktree or loadRecord. */
  load: Hook
}

/** Feathers types a hook by the service it stands before; ours stand before all of them. */
type Hook = (context: never, next: () => Promise<void>) => Promise<void>

/** THE order of a request: the same for every service, every method and every transport. */
export function pipeline(deps: Deps, options: PipelineOptions): { around: Record<string, AroundHookFunction[]> } {
  const first = [
    requestContext(deps, options.service),
    errorBoundary(deps),
    recordRefusal(deps),
    authenticate(deps),
    validate(options)
  ]
  const one = [...first, options.load, authorize]
  return around({
    find: [...first, scopeList(deps), recordRead(deps)],
    get: [...one, recordRead(deps)],
    create: one,
    patch: one,
    remove: one
  })
}

/** Services that hang on one record (its revisions, its token): deciding on the record is deciding on them. */
export function nestedPipeline(deps: Deps, service: string, load: Hook[]): { around: Record<string, AroundHookFunction[]> } {
  const steps = [requestContext(deps, service), errorBoundary(deps), recordRefusal(deps), authenticate(deps), ...load, authorize]
  return around({ find: [...steps, recordRead(deps)], create: steps, patch: steps })
}

/** Signing in: the one call without a credential. */
export function signInPipeline(deps: Deps, check: Hook, load: Hook): { around: Record<string, AroundHookFunction[]> } {
  const first = [requestContext(deps, 'authentication'), errorBoundary(deps), recordRefusal(deps)]
  return around({ create: [...first, check], remove: [...first, authenticate(deps), load, authorize] })
}

function around(hooks: Record<string, Hook[]>): { around: Record<string, AroundHookFunction[]> } {
  return { around: hooks as unknown as Record<string, AroundHookFunction[]> }
}
