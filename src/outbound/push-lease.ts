import { Lease, type LeaseDatabase } from '../postgres/lease.js';

const PREFIX = 'outbound:';
/** From acquiring the lease to the start of the last request under it. */
const START_WITHIN_MS = 5_000;
/** From the end of that request until its outcome is in the log; the append times out a little earlier. */
const RECORD_WITHIN_MS = 7_000;

/**
 * Acquires the leases to close and push the reporting windows of those sites that no other process holds. They last long enough for
 * one attempt: a process that was frozen or disconnected finds the lease expired before another process can acquire it.
 */
export async function acquirePushLeases(
  database: LeaseDatabase,
  sites: readonly string[],
  timeoutMs: number,
): Promise<Map<string, Lease>> {
  const leaseMs = START_WITHIN_MS + timeoutMs + RECORD_WITHIN_MS;
  const names = sites.map((site) => PREFIX + site);
  const leases = await Lease.takeOnce(database, names, leaseMs);
  return new Map([...leases].map(([name, lease]) => [name.slice(PREFIX.length), lease]));
}

/** Whether another step may start. */
export function mayStart({ ageMs }: Lease): boolean {
  return ageMs < START_WITHIN_MS;
}

/** Whether a started request may still be sent. */
export function maySend({ ageMs, leaseMs }: Lease): boolean {
  return ageMs < leaseMs - RECORD_WITHIN_MS;
}

/** Whether a process pushes for the site at the moment, or may have died while it did. */
export async function isPushing({ pool, clock }: LeaseDatabase, site: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM cc.leases WHERE name = $1 AND until > to_timestamp($2)', [
    PREFIX + site,
    clock.nowMs() / 1_000,
  ]);
  return rowCount === 1;
}
