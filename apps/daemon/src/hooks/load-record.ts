import type { NextFunction } from '@feathersjs/feathers'
import type { ResourceType } from '@stoa/core/policy/actions'
import type { Target } from '@stoa/core/policy/decide'
import type { Deps } from '../deps.js'
import { accessOf, type Access, type Context } from './access.js'
import { loadInto } from './load-into.js'

export interface LoadRecordOptions {
  type: ResourceType
  /** What a create is decided on: the record it is made in, found by this field of the data; without one, the daemon itself. */
  parent?: { type: ResourceType; field: string }
  /** What the decision must know about a record that does not exist yet: whose it will be. */
  created?: (target: Target, access: Access, data: Record<string, unknown>) => Target
}

/** The load step of the services that do not live in a session: users, keys, worktrees, grants, the journal. */
export function loadRecord(deps: Deps, { type, parent, created }: LoadRecordOptions) {
  return async (context: Context, next: NextFunction): Promise<void> => {
    const access = accessOf(context.params)
    if (context.method !== 'create') {
      await loadInto(deps, access, type, access.resource_id)
    } else {
      const data = context.data as Record<string, unknown>
      const adjust = created && ((target: Target) => created(target, access, data))
      await loadInto(deps, access, parent?.type ?? 'daemon', parent ? (data[parent.field] as string) : null, adjust)
    }
    await next()
  }
}
