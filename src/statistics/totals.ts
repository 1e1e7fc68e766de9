import type { ClientBase } from 'pg';
import type { Postgres } from '../postgres/postgres.js';
import { type Period, toQuarters } from './buckets.js';
import { sumAsNumber } from './decimal-sum.js';
import { type AsOf, readSnapshot } from './snapshot.js';

/** The projections that totals and series are read from. */
export const COUNTED_IN = ['totals', 'statistics', 'auth_failures'] as const;

/** What is counted of a site in a period. */
export interface Counts {
  /** As pushed by the webhook. */
  readonly conversions: number;
  readonly botTrafficRemoved: number;
  readonly filtered: number;
  readonly duplicates: number;
  readonly changedDuplicates: number;
  readonly matched: number;
  /** Share of the conversions that were matched to a visit, from 0 to 1; null without conversions. */
  readonly matchRate: number | null;
  readonly refused: number;
  readonly authenticationFailures: number;
}

export interface CurrencyValue {
  readonly currency: string;
  readonly conversions: number;
  readonly value: number;
}

export interface SiteTotals extends Counts {
  readonly site: string;
  readonly values: readonly CurrencyValue[];
}

export interface TotalsReport {
  readonly asOf: AsOf;
  readonly from: string;
  readonly to: string;
  readonly items: readonly SiteTotals[];
}

/** Totals of each site, in the order given. */
export function readTotals(postgres: Postgres, sites: readonly string[], period: Period): Promise<TotalsReport> {
  const { fromMs, toMs } = toQuarters(period);
  return readSnapshot(postgres, COUNTED_IN, async (client) => {
    const borders = [fromMs, toMs];
    const counts = await countBySite(client, sites, borders);
    const values = await readValues(client, sites, borders);
    const items = sites.map((site) => ({
      site,
      ...toCounts(counts.get(site)?.get(0) ?? {}),
      values: values.filter((value) => value.site === site).map(({ site: _, ...value }) => value),
    }));
    return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), items };
  });
}

/** The columns that are added up, by table and time column. */
const SOURCES = [
  { table: 'totals', time: 'minute', columns: { botTrafficRemoved: 'bot_traffic_removed' } },
  {
    table: 'conversion_statistics',
    time: 'quarter',
    columns: {
      // Not from `totals`, which counts the same: its position may be another one than that of the values and matches.
      conversions: 'conversions',
      matched: 'matched',
      duplicates: 'duplicates',
      changedDuplicates: 'changed_duplicates',
      filtered: 'filtered',
    },
  },
  { table: 'refusal_statistics', time: 'quarter', columns: { refused: 'refused' } },
  { table: 'auth_failures', time: 'minute', columns: { authenticationFailures: 'failed + throttled' } },
] as const;

/** Counts by site and number of the bucket. */
export async function countBySite(
  client: ClientBase,
  sites: readonly string[],
  bordersMs: readonly number[],
): Promise<Map<string, Map<number, Record<string, number>>>> {
  const counts = new Map<string, Map<number, Record<string, number>>>();
  for (const { table, time, columns } of SOURCES) {
    const sums = Object.entries(columns).map(([name, column]) => `sum(${column})::float8 AS "${name}"`);
    const { rows } = await client.query<{ site: string; bucket: number } & Record<string, number>>(
      `SELECT site, width_bucket(${time}, $2::timestamptz[]) - 1 AS bucket, ${sums.join(', ')} FROM cc.${table}
        WHERE site = ANY ($1) AND ${time} >= $3 AND ${time} < $4 GROUP BY 1, 2`,
      [sites, ...borderValues(bordersMs)],
    );
    for (const { site, bucket, ...sums } of rows) {
      const ofSite = counts.get(site) ?? new Map<number, Record<string, number>>();
      counts.set(site, ofSite.set(bucket, { ...ofSite.get(bucket), ...sums }));
    }
  }
  return counts;
}

export function borderValues(bordersMs: readonly number[]): [Date[], Date | undefined, Date | undefined] {
  const borders = bordersMs.map((ms) => new Date(ms));
  return [borders, borders[0], borders.at(-1)];
}

async function readValues(client: ClientBase, sites: readonly string[], bordersMs: readonly number[]) {
  const [, from, to] = borderValues(bordersMs);
  const { rows } = await client.query<CurrencyValue & { site: string }>(
    `SELECT site, currency, sum(conversions)::float8 AS conversions, ${sumAsNumber('value')} AS value
       FROM cc.conversion_statistics WHERE site = ANY ($1) AND quarter >= $2 AND quarter < $3
      GROUP BY 1, 2 HAVING sum(conversions) > 0 ORDER BY 1, 3 DESC, 2`,
    [sites, from, to],
  );
  return rows;
}

export function toCounts(counts: Readonly<Record<string, number>>): Counts {
  const of = (name: string) => counts[name] ?? 0;
  return {
    conversions: of('conversions'),
    botTrafficRemoved: of('botTrafficRemoved'),
    filtered: of('filtered'),
    duplicates: of('duplicates'),
    changedDuplicates: of('changedDuplicates'),
    matched: of('matched'),
    matchRate: of('conversions') === 0 ? null : of('matched') / of('conversions'),
    refused: of('refused'),
    authenticationFailures: of('authenticationFailures'),
  };
}
