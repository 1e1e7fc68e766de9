import { CONVERSION } from '../../events/conversion.events.js';
import { INTERVALS } from '../../kernel/intervals.js';
import type { EventLog } from '../../log/event-log.js';
import { readTimeAfter } from '../../log/stored-time.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { readReached } from '../../postgres/lease.js';
import type { Postgres } from '../../postgres/postgres.js';
import { type OwedDelivery, SCAN_LEASE, UnsettledConversions } from './owed.js';
import { readUnsettled } from './read-unsettled.js';

export interface OwedReport {
  readonly byPlatform: ReadonlyMap<ConnectionName, number>;
  /** Owed deliveries without any outcome. */
  readonly unattempted: number;
  /** How long ago the oldest one should have been attempted; 0 if none is late. Connections that hold back do not count. */
  readonly lateMs: number;
}

/**
 * Counts deliveries that wait for an attempt, and adds those that the scan has found. `isHeldBack`: the connection is paused or
 * parked. The reason why a delivery waits does not tell: it may be from before the connection was parked, or resumed.
 */
export async function reportOwed(
  postgres: Postgres,
  unattempted: Iterable<OwedDelivery>,
  isHeldBack: (site: string, platform: ConnectionName) => boolean,
  /** Another cell acts for the site. */
  isElsewhere: (site: string) => boolean = () => false,
): Promise<OwedReport> {
  const { rows } = await postgres.pool.query<{ site: string; platform: ConnectionName; count: number; late: number }>(
    `SELECT site, platform, count(*)::float8 AS count, date_part('epoch', to_timestamp($1) - min(due)) * 1000 AS late
       FROM cc.deliveries WHERE kind = 'send' GROUP BY site, platform`,
    [postgres.clock.nowMs() / 1_000],
  );
  const byPlatform = new Map<ConnectionName, number>();
  let lateMs = 0;
  for (const { site, platform, count, late } of rows) {
    if (isElsewhere(site)) continue;
    byPlatform.set(platform, (byPlatform.get(platform) ?? 0) + count);
    if (!isHeldBack(site, platform)) lateMs = Math.max(lateMs, late);
  }
  let found = 0;
  const now = performance.now();
  for (const { site, platform, owedAtMs } of unattempted) {
    if (isElsewhere(site)) continue;
    byPlatform.set(platform, (byPlatform.get(platform) ?? 0) + 1);
    lateMs = Math.max(lateMs, now - owedAtMs);
    found += 1;
  }
  return { byPlatform, unattempted: found, lateMs };
}

/** Folds the log from the scan's progress on, for a process that does not scan. */
export async function findUnattempted(postgres: Postgres, log: EventLog): Promise<OwedDelivery[]> {
  const now = performance.now();
  const databaseMs = postgres.clock.nowMs();
  const unsettled = new UnsettledConversions(
    await readScanProgress(postgres),
    (receivedMs) => now - (databaseMs - receivedMs) + INTERVALS.attempts.owedAfterMs,
    Number.POSITIVE_INFINITY,
  );
  await readUnsettled(log, unsettled, await log.head(), () => true);
  return [...unsettled.owed(now)];
}

/**
 * How long the scan has been late: the age of the oldest conversion after its progress, beyond the time after which it is owed.
 * It grows whenever no instance scans, so it is measured in the database and not in the process that scans.
 */
export async function scanLateMs(postgres: Postgres, log: EventLog): Promise<number> {
  const after = await readScanProgress(postgres);
  const [next] = await log.read({ after, categories: [CONVERSION], limit: 1 });
  // By when it was stored here: one that came with its site from another cell has the time that it had there.
  const stored = next && (await readTimeAfter(postgres.pool, next.position - 1));
  if (!stored) return 0;
  return Math.max(0, postgres.clock.nowMs() - stored.getTime() - INTERVALS.attempts.owedAfterMs);
}

/** Every delivery of a conversion up to this position has an outcome. */
export function readScanProgress(postgres: Pick<Postgres, 'pool'>): Promise<number> {
  return readReached(postgres, SCAN_LEASE);
}
