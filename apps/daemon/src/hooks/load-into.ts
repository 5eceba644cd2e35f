import type { ResourceType } from '@stoa/core/policy/actions'
import type { Target } from '@stoa/core/policy/decide'
import type { GrantLevel, OthersLevel } from '@stoa/core/policy/levels'
import { verifyWho } from '../auth/who.js'
import { loadAccess, type LoadedAccess } from '../db/queries/load-access.js'
import type { Deps } from '../deps.js'
import type { Access } from './access.js'

/** Loads the caller and the record they name, and keeps the way to do it again. */
export async function loadInto(
  deps: Deps,
  access: Access,
  type: ResourceType,
  id: string | null,
  adjust?: (target: Target) => Target
): Promise<void> {
  access.renew = async () => {
    const loaded = await loadAccess(deps.db, type, access.shown!.credential_id, id)
    access.who = verifyWho(access.shown!, loaded, deps.now())
    access.loaded = loaded
    const target = targetOf(type, loaded)
    access.target = adjust ? adjust(target) : target
  }
  await access.renew()
}

/** What the decision is about. Everything in it was read from the database. */
export function targetOf(type: ResourceType, { record, session, worktree, grant }: LoadedAccess): Target {
  return {
    type,
    exists: record !== null || type === 'daemon',
    worktree: worktree && { worktree_id: worktree['worktree_id'] as string, others_can: worktree['others_can'] as OthersLevel },
    grant: (grant?.['level'] as GrantLevel | undefined) ?? null,
    session: session && { session_id: session['session_id'] as string, created_by: session['created_by'] as string },
    task_id: (record?.['task_id'] as string | undefined) ?? null,
    user_id: (record?.['user_id'] as string | undefined) ?? null
  }
}
