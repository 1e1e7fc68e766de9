import { beforeArrived } from '../delivery/arrivals.js';
import { isRefreshing } from '../delivery/connections/token-store.js';
import { type CopiedLease, readLeases } from '../delivery/delivery-leases.js';
import { UnsettledConversions } from '../delivery/owed/owed.js';
import { readScanProgress } from '../delivery/owed/owed-report.js';
import { readUnsettled } from '../delivery/owed/read-unsettled.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { EventLog } from '../log/event-log.js';
import { isPushing } from '../outbound/push-lease.js';
import type { Postgres } from '../postgres/postgres.js';

interface DrainDependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
}

/** What is still under way for a site whose deliveries and pushes wait. */
export interface UnderWay {
  /** Without an outcome for some platform. */
  readonly conversions: number;
  /** Attempts under a lease. */
  readonly attempts: number;
  readonly isPushing: boolean;
  /** A refresh token is used: the one that replaces it is not stored once the site is closed. */
  readonly isRefreshing: boolean;
}

/** After the site was paused: outcomes follow, and no conversion. */
export async function readUnderWay({ postgres, log }: DrainDependencies, site: string): Promise<UnderWay> {
  const reached = await readScanProgress(postgres);
  const head = await log.head();
  const from = await beforeArrived(log, reached, reached, head);
  const unsettled = new UnsettledConversions(from, () => 0, Number.POSITIVE_INFINITY);
  await readUnsettled(log, unsettled, head, () => true);
  const conversions = new Set<string>();
  for (const owed of unsettled.owed(Number.POSITIVE_INFINITY)) if (owed.site === site) conversions.add(owed.conversion);
  const nowMs = postgres.clock.nowMs();
  const leases = await readSiteLeases({ postgres, log }, site);
  return {
    conversions: conversions.size,
    attempts: leases.filter((lease) => lease.until > nowMs).length,
    isPushing: await isPushing(postgres, site),
    isRefreshing: await isRefreshing(postgres, site),
  };
}

export function isDrained({ conversions, attempts, isPushing, isRefreshing }: UnderWay): boolean {
  return conversions === 0 && attempts === 0 && !isPushing && !isRefreshing;
}

/** Leases of deliveries of a site. One that has ended was not released: its holder may have sent the conversion. */
export async function readSiteLeases({ postgres, log }: DrainDependencies, site: string): Promise<CopiedLease[]> {
  const leases = await readLeases(postgres);
  const unknown = leases.filter((lease) => lease.site === null).map(({ conversion }) => conversion);
  const found = await conversionsOf(log, site, [...new Set(unknown)]);
  return leases
    .filter((lease) => lease.site === site || found.has(lease.conversion))
    .map(({ conversion, platform, until }) => ({ conversion, platform, until }));
}

/** Those of these conversions that belong to the site. */
async function conversionsOf(log: EventLog, site: string, ids: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (let from = 0; from < ids.length; from += 1_000)
    for (const event of await log.readOpenings(CONVERSION, ids.slice(from, from + 1_000)))
      if (event.site === site) found.add(event.stream.slice(CONVERSION.length + 1));
  return found;
}
