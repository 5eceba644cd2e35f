import { policies, type Action, type Policy } from '../policy/actions.js'
import { idField, resources, type ServiceName } from './resources.js'

export type HttpMethod = 'get' | 'post' | 'patch' | 'delete'
export type ServiceMethod = 'find' | 'get' | 'create' | 'patch' | 'remove'

/** One way in: an action of the policy, and the request that asks for it. */
export interface Operation {
  action: Action
  policy: Policy
  service: string
  method: ServiceMethod
  verb: HttpMethod
  path: string
  /** The parameters in the path, outermost first. */
  ids: string[]
}

/**
 * Made from the policy table, so that an action cannot be documented under another rule than the one that is enforced.
 * An action for which there is no route here is left out, and a test names it.
 */
export function listOperations(): Operation[] {
  return Object.entries(policies).flatMap(([action, policy]) => {
    const [service, method] = action.split('.') as [string, ServiceMethod]
    const route = nested[action] ?? (isService(service) ? resourceRoute(service, method) : undefined)
    if (!route) return []
    const ids = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
    return [{ action: action as Action, policy, service, method, ids, ...route }]
  })
}

type Route = Pick<Operation, 'verb' | 'path'>

/** What is not a plain collection at the root. */
const nested: Record<string, Route> = {
  'authentication.create': { verb: 'post', path: '/authentication' },
  'authentication.remove': { verb: 'delete', path: '/authentication' },
  'task-tokens.create': { verb: 'post', path: '/tasks/{task_id}/token' },
  'session-forks.create': { verb: 'post', path: '/sessions/{session_id}/fork' },
  'session-truncations.create': { verb: 'post', path: '/sessions/{session_id}/truncate' },
  'session-clears.create': { verb: 'post', path: '/sessions/{session_id}/clear' },
  'session-undos.create': { verb: 'post', path: '/sessions/{session_id}/undo' },
  'session-compactions.create': { verb: 'post', path: '/sessions/{session_id}/compact' },
  'session-context.find': { verb: 'get', path: '/sessions/{session_id}/context' },
  'session-exports.find': { verb: 'get', path: '/sessions/{session_id}/export' },
  'message-restores.create': { verb: 'post', path: '/messages/{message_id}/restore' },
  'task-stops.create': { verb: 'post', path: '/tasks/{task_id}/stop' },
  'task-events.find': { verb: 'get', path: '/tasks/{task_id}/events' },
  'leases.create': { verb: 'post', path: '/leases' },
  'leases.patch': { verb: 'patch', path: '/leases/{lease_id}' },
  'message-revisions.find': { verb: 'get', path: '/messages/{message_id}/revisions' },
  'sweeps.create': { verb: 'post', path: '/sweeps' },
  'livez.get': { verb: 'get', path: '/livez' },
  'readyz.get': { verb: 'get', path: '/readyz' },
  'health.get': { verb: 'get', path: '/health' },
  'metrics.get': { verb: 'get', path: '/metrics' },
  'openapi.get': { verb: 'get', path: '/openapi.json' }
}

const VERBS: Record<ServiceMethod, HttpMethod> = { find: 'get', get: 'get', create: 'post', patch: 'patch', remove: 'delete' }

function resourceRoute(service: ServiceName, method: ServiceMethod): Route {
  const path = method === 'find' || method === 'create' ? `/${service}` : `/${service}/{${idField(service)}}`
  return { verb: VERBS[method], path }
}

function isService(name: string): name is ServiceName {
  return Object.hasOwn(resources, name)
}
