import type { Pool } from 'pg';
import type { HoldSource } from '../log/retention-holds.js';

/** Lease of the scan for late matches; its `reached` is the scan's progress. */
export const LATE_MATCHES_LEASE = 'late-matches';

/**
 * The scan for late matches needs the events that it has not read. Unmatched conversions themselves hold nothing: whether a
 * visit ever matches them is open, and LOG_RETENTION states how long the service may wait for that.
 */
export function lateMatchHolds(pool: Pool): HoldSource {
  return async () => {
    const { rows } = await pool.query<{ reached: string }>('SELECT reached FROM cc.leases WHERE name = $1', [
      LATE_MATCHES_LEASE,
    ]);
    return [
      {
        holder: 'the scan for late matches',
        position: Number(rows[0]?.reached ?? 0),
        fix: 'A running service continues it: check that one runs and that its log reports no error.',
      },
    ];
  };
}
