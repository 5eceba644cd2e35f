import type { Step } from '../database.js'

/** A lease ends with its token: what its holder still sends is refused. */
export function endLease(leaseId: string, now: string): Step[] {
  return [
    {
      sql: 'UPDATE leases SET ended_at = ? WHERE lease_id = ? AND ended_at IS NULL',
      params: [now, leaseId],
      optional: true
    },
    {
      sql: `UPDATE credentials SET revoked_at = ?, updated_at = ?, version = version + 1
        WHERE credential_id = (SELECT l.credential_id FROM leases l WHERE l.lease_id = ?) AND revoked_at IS NULL`,
      params: [now, now, leaseId],
      optional: true
    }
  ]
}
