import { StoaError } from '@stoa/core/errors'
import { decide, type Actor, type Decision, type Target } from '@stoa/core/policy/decide'
import { effectiveLevel, type OthersLevel, type Role } from '@stoa/core/policy/levels'
import type { Leasing, Renewal, Renewed } from '@stoa/core/schema/leases'
import { makeSecret } from '../../auth/secrets.js'
import { TASK_TOKEN_PREFIX } from '../../auth/strategies/secret.js'
import type { Row } from '../../db/database.js'
import { authorStands, claimTask, type NewLease } from '../../db/queries/claim-task.js'
import { queuedTasks, type Candidate } from '../../db/queries/queued-tasks.js'
import { readRecord } from '../../db/queries/read-record.js'
import { renewLease } from '../../db/queries/renew-lease.js'
import { decodeRow, publicRecord, tables } from '../../db/tables.js'
import { Sql, updateWhere } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'
import { commitAndCount, commitUnit, stillAllowed } from '../../hooks/commit-unit.js'
import { allowedEntry, systemEntry } from '../../hooks/journal-entry.js'

/** How many queued tasks are looked at before the queue is read again, and how often it is read without being rung for. */
const AT_A_TIME = 20
const LOOK_EVERY_MS = 2_000
const ROUNDS = 100

/** Hands queued tasks to executors, each to one at a time, for as long as it is heard of. */
export class LeasesClass {
  constructor(private readonly deps: Deps) {}

  /** Null when there is no task, after waiting for one as long as was asked. */
  async create({ executor, wait_s = 0 }: Leasing, params: StoaParams): Promise<Row | null> {
    const access = accessOf(params)
    const deadline = performance.now() + wait_s * 1000
    for (;;) {
      const leased = await this.leaseNext(access, executor)
      if (leased) return leased
      const left = deadline - performance.now()
      if (left <= 0 || this.deps.bell.isClosed || params.isGone?.()) break
      await this.deps.bell.wait(Math.min(left, LOOK_EVERY_MS))
      await access.renew()
      if (params.isGone?.()) break
    }
    const entry = allowedEntry(this.deps, access, { change: 'listed', count: 0 })
    await commitAndCount(this.deps, { steps: [], entries: [entry] })
    access.decision_id = entry.id
    return null
  }

  /** Holds the lease, and its token, for another while; says whether somebody wants the task to stop. */
  async patch(_id: unknown, { progress }: Renewal, params: StoaParams): Promise<Renewed> {
    const access = accessOf(params)
    const at = this.deps.now()
    const [now, expires_at] = [at.toISOString(), this.endOf(at)]
    const [row] = await commitUnit(this.deps, access, () => {
      const lease = access.loaded!.record!
      if (lease['ended_at'] !== null || (lease['expires_at'] as string) <= now)
        throw new StoaError('lease_held', { message: 'This lease is over: the task has ended, or was given to another.' })
      return {
        steps: renewLease(lease, { now, expires_at, progress }, stillAllowed(this.deps, access)),
        entries: [allowedEntry(this.deps, access, { change: 'patched', fields: ['expires_at', ...access.fields] })]
      }
    })
    const { lease_id, task_id, status } = row as { lease_id: string; task_id: string; status: string }
    return { lease_id, task_id, expires_at, stop_requested: status === 'stopping' }
  }

  /** Reads the queue again as long as something in it has moved: others take tasks, and one that is refused lets the next go. */
  private async leaseNext(access: Access, executor: Leasing['executor']): Promise<Row | null> {
    const { actor } = access.who!
    for (let round = 1; round <= ROUNDS; round += 1) {
      let hasMoved = false
      for (const candidate of await queuedTasks(this.deps.db, actor.user_id, executor.agents, AT_A_TIME)) {
        if (!mayPrompt(actor, candidate.own_grant, candidate).allowed) continue
        hasMoved = true
        const decision = authorsRight(candidate)
        const leased = decision.allowed
          ? await this.claim(access, executor, candidate, decision)
          : await this.refuse(candidate, decision)
        if (leased) return leased
      }
      if (!hasMoved) return null
    }
    return null
  }

  private async claim(
    access: Access,
    executor: Leasing['executor'],
    candidate: Candidate,
    author: Decision
  ): Promise<Row | null> {
    const { deps } = this
    const now = deps.now()
    const credential_id = deps.newId()
    const { secret, secret_hash } = makeSecret(TASK_TOKEN_PREFIX, credential_id)
    const lease: NewLease = {
      lease_id: deps.newId(),
      executor_id: deps.newId(),
      user_id: access.who!.actor.user_id,
      executor,
      token: { credential_id, secret_hash },
      now: now.toISOString(),
      expires_at: this.endOf(now)
    }
    const entry = allowedEntry(
      deps,
      access,
      { change: 'patched', fields: ['status'], after: { status: 'dispatching', attempt: candidate.attempt + 1 } },
      {
        resource_type: 'task',
        resource_id: candidate.task_id,
        session_id: candidate.session['session_id'] as string,
        worktree_id: candidate.worktree['worktree_id'] as string
      }
    )
    const steps = claimTask(deps.db.dialect, lease, candidate, stillAllowed(deps, access))
    // Why it was handed out is the author's right as well as the executor's.
    const trace = [...entry.trace, ...author.trace]
    const rows = await commitAndCount(deps, { steps, entries: [{ ...entry, trace }] }).catch(unlessTaken)
    if (!rows) return null
    access.decision_id = entry.id
    const task = decodeRow(tables.tasks, rows[0]!)
    return {
      lease_id: lease.lease_id,
      attempt: task['attempt'],
      expires_at: lease.expires_at,
      token: secret,
      task: { ...publicRecord(tables.tasks, task), queue_position: null },
      session: await readRecord(deps.db, tables.sessions, candidate.session['session_id'] as string),
      worktree: {
        ...(await readRecord(deps.db, tables.worktrees, candidate.worktree['worktree_id'] as string)),
        my_level: effectiveLevel(
          candidate.author['role'] as Role,
          candidate.grant,
          candidate.worktree['others_can'] as OthersLevel
        )
      }
    }
  }

  /** A queued task whose author lost the right is refused, visibly. */
  private async refuse(candidate: Candidate, { code, rule, need, have, trace }: Decision): Promise<null> {
    const { task_id, attempt, session, worktree } = candidate
    const now = this.deps.now().toISOString()
    const values = {
      status: 'failed',
      because: 'its author may no longer prompt in this session',
      error: { code: 'not_allowed', message: `It takes ${need}; the author has ${have}.` },
      completed_at: now,
      updated_at: now
    }
    const entry = systemEntry(this.deps, {
      system: 'dispatch',
      decision: 'deny',
      reason_code: code,
      reason: rule,
      trace,
      action: 'leases.create',
      resource_type: 'task',
      resource_id: task_id,
      session_id: session['session_id'] as string,
      worktree_id: worktree['worktree_id'] as string,
      effect: { change: 'patched', fields: ['status'], after: { status: 'failed', attempt } }
    })
    const conditions = [new Sql(`task_id = ? AND status = 'queued'`, task_id), authorStands(this.deps.db.dialect, candidate)]
    const steps = [updateWhere(tables.tasks, values, conditions)]
    await commitAndCount(this.deps, { steps, entries: [entry] })
    return null
  }

  private endOf(now: Date): string {
    return new Date(now.getTime() + this.deps.config.leaseSeconds * 1000).toISOString()
  }
}

/**
 * Whether somebody may prompt in this session, as it is now. Asked about the author, and about the user of the executor's key:
 * a lease shows the prompt and gives a token for the session, and nobody gets more by leasing than they have.
 */
function mayPrompt(
  { user_id, role }: Pick<Actor, 'user_id' | 'role'>,
  grant: Target['grant'],
  { session, worktree }: Candidate
): Decision {
  const target: Target = {
    type: 'session',
    exists: true,
    worktree: { worktree_id: worktree['worktree_id'] as string, others_can: worktree['others_can'] as OthersLevel },
    grant,
    session: { session_id: session['session_id'] as string, created_by: session['created_by'] as string },
    task_id: null,
    user_id: null
  }
  return decide({ user_id, role, token: null }, 'tasks.create', target, { fields: [], reason: false })
}

function authorsRight(candidate: Candidate): Decision {
  const { user_id, role, active } = candidate.author
  const decision = mayPrompt({ user_id: user_id as string, role: role as Role }, candidate.grant, candidate)
  return active
    ? decision
    : { ...decision, allowed: false, code: 'role_too_low', rule: 'active', need: 'an active user', have: 'none' }
}

/** Another task of the session was claimed at the same moment. */
function unlessTaken(error: unknown): null {
  if (error instanceof StoaError && error.code === 'duplicate') return null
  throw error
}
