import { setTimeout as sleep } from 'node:timers/promises'
import { StoaError } from '@stoa/core/errors'
import type { Row, Statement, Unit } from '../db/database.js'
import { guardHolds, type AccessGuard } from '../db/guard.js'
import type { Table } from '../db/tables.js'
import { Sql } from '../db/write.js'
import type { Deps } from '../deps.js'
import type { Access } from './access.js'

/**
 * How often a unit may lose against a change of rights or of the record before the caller is told. Of N that change the
 * same right at once one wins each time, so the last needs N attempts; eight refused 39 of 80 at 16 at once.
 */
const ATTEMPTS = 200

/**
 * Writes what a request changes, together with its journal entries, if what was decided on still holds; otherwise loads
 * and decides again. `build` is called anew each time, with what is loaded now.
 */
export async function commitUnit(deps: Deps, access: Access, build: () => Unit | Promise<Unit>): Promise<Row[]> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const unit = await build()
    const rows = await commitAndCount(deps, unit)
    if (rows) {
      access.decision_id = unit.entries[0]?.id ?? null
      return rows
    }
    // Those who lost together would meet again; a growing random pause lets them pass one by one.
    if (attempt > 2) await sleep(Math.random() * Math.min(attempt, 25))
    await access.renew()
  }
  throw new StoaError('version_conflict')
}

/** What is in the journal is what the metrics count. */
export async function commitAndCount({ db, metrics }: Deps, unit: Unit): Promise<Row[] | null> {
  const rows = await db.commit(unit)
  if (rows) for (const { decision, reason_code } of unit.entries) metrics.countDecision(decision, reason_code)
  return rows
}

/** The condition that every write of a request carries. `changed` names the row that the write changes, when it is one of rights. */
export function stillAllowed({ db }: Deps, { who, loaded }: Access, changed?: { table: string; id: string | null }): Statement {
  const worktree = loaded?.worktree
  const guard: AccessGuard = {
    credential_id: who!.credential.id,
    user: { user_id: who!.actor.user_id, access_version: who!.access_version },
    worktree: worktree
      ? { worktree_id: worktree['worktree_id'] as string, access_version: worktree['access_version'] as number }
      : null
  }
  return guardHolds(db.dialect, guard, changed)
}

/** What a write of an existing record is conditional on: the right to do it, and the version when one was named. */
export function recordHolds(deps: Deps, access: Access, table: Table): Statement[] {
  return [...recordIs(access, table), stillAllowed(deps, access, { table: table.name, id: access.resource_id })]
}

export function recordIs(access: Access, table: Table): Statement[] {
  checkVersion(access)
  const id = new Sql(`${table.id} = ?`, access.resource_id)
  return access.ifMatch === null ? [id] : [id, new Sql('version = ?', access.ifMatch)]
}

/** `If-Match` fails honestly: with the version that is there now. */
export function checkVersion(access: Access): void {
  const current = access.loaded?.record?.['version']
  if (access.ifMatch !== null && access.ifMatch !== current)
    throw new StoaError('version_conflict', { data: { current_version: current } })
}
