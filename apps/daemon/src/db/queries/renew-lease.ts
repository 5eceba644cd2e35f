import type { Row, Statement, Step } from '../database.js'

export interface LeaseRenewal {
  now: string
  expires_at: string
  progress: Record<string, unknown> | undefined
}

/** Holds a lease, and its token, for another while, if it is not over; the answer has the status of its task. */
export function renewLease(lease: Row, { now, expires_at, progress }: LeaseRenewal, allowed: Statement): Step[] {
  return [
    {
      sql: `UPDATE leases SET renewed_at = ?, expires_at = ?${progress ? ', progress = ?' : ''}
        WHERE lease_id = ? AND ended_at IS NULL AND expires_at > ? AND ${allowed.sql}
        RETURNING lease_id, task_id, (SELECT t.status FROM tasks t WHERE t.task_id = leases.task_id) AS status`,
      params: [
        now,
        expires_at,
        ...(progress ? [JSON.stringify(progress)] : []),
        lease['lease_id'] as string,
        now,
        ...allowed.params
      ]
    },
    {
      sql: 'UPDATE credentials SET expires_at = ? WHERE credential_id = ? AND revoked_at IS NULL',
      params: [expires_at, lease['credential_id'] as string],
      optional: true
    }
  ]
}
