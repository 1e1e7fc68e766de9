import type { ClientBase } from 'pg';
import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';
import { type Annotation, readAnnotations } from './annotations.js';
import { bordersWithin, type Interval, type Period } from './buckets.js';
import { type AsOf, readSnapshot } from './snapshot.js';
import { borderValues, COUNTED_IN, type Counts, countBySite, toCounts } from './totals.js';

/** Final outcomes of deliveries to one platform, by the time of the outcome. */
export interface DeliveryCounts {
  readonly delivered: number;
  readonly accepted: number;
  readonly confirmed: number;
  readonly rejected: number;
  readonly failed: number;
  readonly skipped: number;
  /** Share that the platform accepted, from 0 to 1, without what was not sent; null if nothing was. */
  readonly acceptance: number | null;
}

export interface Bucket extends Counts {
  readonly start: string;
  /** Exclusive. */
  readonly end: string;
  /** By the name of the connection. */
  readonly platforms: Readonly<Record<string, DeliveryCounts>>;
}

export interface Series {
  readonly asOf: AsOf;
  readonly buckets: readonly Bucket[];
  /** The newest ones, oldest first. */
  readonly annotations: readonly Annotation[];
}

export interface SeriesRequest {
  readonly sites: readonly string[];
  readonly period: Period;
  readonly interval: Interval;
  readonly timeZone: string;
}

/** The numbers of some sites together, by hours or days of a time zone. The first and the last may be parts of one. */
export async function readSeries(
  { postgres, log }: { readonly postgres: Postgres; readonly log: EventLog },
  { sites, period, interval, timeZone }: SeriesRequest,
): Promise<Series> {
  const borders = bordersWithin(period, interval, timeZone);
  const annotations = await readAnnotations(log, sites, {
    fromMs: borders[0] as number,
    toMs: borders.at(-1) as number,
  });
  return readSnapshot(postgres, COUNTED_IN, async (client) => {
    const bySite = await countBySite(client, sites, borders);
    const platforms = await countDeliveries(client, sites, borders);
    const buckets = borders.slice(0, -1).map((startMs, index) => ({
      start: new Date(startMs).toISOString(),
      end: new Date(borders[index + 1] as number).toISOString(),
      ...toCounts(sumOf([...bySite.values()].map((buckets) => buckets.get(index) ?? {}))),
      platforms: Object.fromEntries(platforms.get(index) ?? []),
    }));
    return { buckets, annotations };
  });
}

function sumOf(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const counts of all) for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** By number of the bucket and connection. */
export async function countDeliveries(
  client: ClientBase,
  sites: readonly string[],
  bordersMs: readonly number[],
): Promise<Map<number, Map<string, DeliveryCounts>>> {
  type Row = Omit<DeliveryCounts, 'acceptance'> & { bucket: number; platform: string };
  const { rows } = await client.query<Row>(
    `SELECT width_bucket(quarter, $2::timestamptz[]) - 1 AS bucket, platform, sum(delivered)::float8 AS delivered,
            sum(accepted)::float8 AS accepted, sum(confirmed)::float8 AS confirmed, sum(rejected)::float8 AS rejected,
            sum(failed)::float8 AS failed, sum(skipped)::float8 AS skipped
       FROM cc.delivery_statistics WHERE site = ANY ($1) AND quarter >= $3 AND quarter < $4 GROUP BY 1, 2 ORDER BY 1, 2`,
    [sites, ...borderValues(bordersMs)],
  );
  const counts = new Map<number, Map<string, DeliveryCounts>>();
  for (const { bucket, platform, ...row } of rows) {
    const ofBucket = counts.get(bucket) ?? new Map<string, DeliveryCounts>();
    counts.set(bucket, ofBucket.set(platform, { ...row, acceptance: acceptanceOf(row) }));
  }
  return counts;
}

/** A delivery that is not settled yet, or was never sent, is in neither number. */
export function acceptanceOf(counts: Omit<DeliveryCounts, 'acceptance'>): number | null {
  const good = counts.delivered + counts.accepted + counts.confirmed;
  const all = good + counts.rejected + counts.failed;
  return all === 0 ? null : good / all;
}
