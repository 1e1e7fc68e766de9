import type { Postgres } from '../postgres/postgres.js';
import { type Period, toQuarters } from './buckets.js';
import { type AsOf, readSnapshot } from './snapshot.js';
import type { CurrencyValue } from './totals.js';

/** The columns of each grouping. */
const COLUMNS = {
  source: ['source', 'medium'],
  campaign: ['source', 'medium', 'campaign'],
  click: ['click'],
} as const;

export const GROUPINGS = Object.keys(COLUMNS) as [Grouping, ...Grouping[]];
export type Grouping = keyof typeof COLUMNS;

export interface Group {
  readonly conversions: number;
  readonly values: readonly CurrencyValue[];
}

export interface Source extends Group {
  readonly source: string | null;
  readonly medium: string | null;
  readonly campaign: string | null;
  readonly click: string | null;
}

export interface Sources {
  readonly asOf: AsOf;
  readonly from: string;
  readonly to: string;
  /** The largest groups. */
  readonly items: readonly Source[];
  /** All other groups together: a visitor can invent any number of them. */
  readonly other: Group;
  /** Conversions without a visit and without a click id of the sender. */
  readonly notMatched: Group;
  /** Conversions of erased people, and older ones than IDENTIFIER_TTL. */
  readonly unknown: number;
}

export interface SourcesRequest {
  readonly sites: readonly string[];
  readonly period: Period;
  readonly by: Grouping;
  readonly limit: number;
}

interface Row {
  readonly kind: 'item' | 'other' | 'not_matched';
  readonly source: string | null;
  readonly medium: string | null;
  readonly campaign: string | null;
  readonly click: string | null;
  readonly values: CurrencyValue[];
}

/** Where conversions came from. The answer is bounded, whatever values visitors invent, and the same after a rebuild. */
export function readSources(postgres: Postgres, { sites, period, by, limit }: SourcesRequest): Promise<Sources> {
  const { fromMs, toMs } = toQuarters(period);
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  const columns: readonly string[] = COLUMNS[by];
  const names = ['source', 'medium', 'campaign', 'click'];
  const keys = names.map((name) => (columns.includes(name) ? name : `NULL AS ${name}`)).join(', ');
  const list = names.join(', ');
  const shown = names.map((name) => `CASE WHEN kind = 'item' THEN ${name} END AS ${name}`).join(', ');
  return readSnapshot(postgres, ['attributions', 'statistics'], async (client) => {
    const { rows } = await client.query<Row>(
      `WITH groups AS (
         SELECT matched OR click IS NOT NULL AS known, ${keys}, currency, count(*) AS conversions,
                coalesce(sum(value), 0) AS value
           FROM cc.attributions WHERE site = ANY ($1) AND time >= $2 AND time < $3 GROUP BY 1, 2, 3, 4, 5, 6),
       sized AS (SELECT *, sum(conversions) OVER (PARTITION BY known, ${list}) AS size FROM groups),
       ranked AS (SELECT *, dense_rank() OVER (PARTITION BY known ORDER BY size DESC, ${list}) AS rank FROM sized),
       kinds AS (
         SELECT *, CASE WHEN NOT known THEN 'not_matched' WHEN rank <= $4 THEN 'item' ELSE 'other' END AS kind FROM ranked),
       summed AS (
         SELECT kind, CASE WHEN kind = 'item' THEN rank END AS rank, ${shown}, currency,
                sum(conversions)::float8 AS conversions, sum(value)::float8 AS value
           FROM kinds GROUP BY 1, 2, 3, 4, 5, 6, 7)
       SELECT kind, ${list},
              json_agg(json_build_object('currency', currency, 'conversions', conversions, 'value', value)
                       ORDER BY conversions DESC, currency) AS values
         FROM summed GROUP BY kind, rank, ${list} ORDER BY kind, rank`,
      [sites, from, to, limit],
    );
    const { rows: counted } = await client.query<{ conversions: number }>(
      `SELECT coalesce(sum(conversions), 0)::float8 AS conversions FROM cc.conversion_statistics
        WHERE site = ANY ($1) AND quarter >= $2 AND quarter < $3`,
      [sites, from, to],
    );
    const known = rows.reduce((sum, { values }) => sum + countOf(values), 0);
    const groupOf = (kind: Row['kind']) => toGroup(rows.find((row) => row.kind === kind)?.values ?? []);
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      items: rows
        .filter(({ kind }) => kind === 'item')
        .map(({ kind: _, values, ...row }) => ({ ...row, ...toGroup(values) })),
      other: groupOf('other'),
      notMatched: groupOf('not_matched'),
      // One of the two projections may be ahead.
      unknown: Math.max(0, (counted[0]?.conversions ?? 0) - known),
    };
  });
}

function toGroup(values: readonly CurrencyValue[]): Group {
  return { conversions: countOf(values), values };
}

function countOf(values: readonly CurrencyValue[]): number {
  return values.reduce((sum, { conversions }) => sum + conversions, 0);
}
