import type { Postgres } from '../postgres/postgres.js';
import { type Period, toQuarters } from './buckets.js';
import { sumAsNumber } from './decimal-sum.js';
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
  /** Conversions without a visit; by click, without a click id of the sender too. */
  readonly notMatched: Group;
  /** Conversions of erased people, and older ones than IDENTIFIER_TTL. */
  readonly unknown: number;
  /** Those of `unknown` that were matched to a visit. */
  readonly unknownMatched: number;
  /** As in the totals of the same period. By source and campaign: those of the items, the others and `unknownMatched`. */
  readonly matched: number;
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
  /** Null if none of them was matched. */
  readonly matched: number | null;
  readonly values: CurrencyValue[];
}

/** Where conversions came from. The answer is bounded, whatever values visitors invent, and the same after a rebuild. */
export function readSources(postgres: Postgres, { sites, period, by, limit }: SourcesRequest): Promise<Sources> {
  const { fromMs, toMs } = toQuarters(period);
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  const columns: readonly string[] = COLUMNS[by];
  const names = ['source', 'medium', 'campaign', 'click'];
  const keys = names.map((name) => `${columns.includes(name) ? `nullif(${name}, '')` : 'NULL'} AS ${name}`).join(', ');
  const list = names.join(', ');
  const shown = names.map((name) => `CASE WHEN kind = 'item' THEN ${name} END AS ${name}`).join(', ');
  // Rows of sources that are counted together still have their click.
  const [known, isOther] = by === 'click' ? [`matched OR click <> ''`, 'false'] : ['matched', 'other'];
  return readSnapshot(postgres, ['statistics'], async (client) => {
    const { rows } = await client.query<Row>(
      `WITH groups AS (
         SELECT ${known} AS known, ${isOther} AS unnamed, ${keys}, currency, sum(conversions) AS conversions,
                sum(value) AS value, sum(conversions) FILTER (WHERE matched) AS matched
           FROM cc.attributions WHERE site = ANY ($1) AND quarter >= $2 AND quarter < $3 GROUP BY 1, 2, 3, 4, 5, 6, 7),
       sized AS (SELECT *, sum(conversions) OVER (PARTITION BY known, unnamed, ${list}) AS size FROM groups),
       ranked AS (SELECT *, dense_rank() OVER (PARTITION BY known, unnamed ORDER BY size DESC, ${list}) AS rank FROM sized),
       kinds AS (
         SELECT *, CASE WHEN NOT known THEN 'not_matched' WHEN NOT unnamed AND rank <= $4 THEN 'item' ELSE 'other' END AS kind
           FROM ranked),
       summed AS (
         SELECT kind, CASE WHEN kind = 'item' THEN rank END AS rank, ${shown}, currency,
                sum(conversions)::float8 AS conversions, ${sumAsNumber('value')} AS value, sum(matched)::float8 AS matched
           FROM kinds GROUP BY 1, 2, 3, 4, 5, 6, 7)
       SELECT kind, ${list}, sum(matched) AS matched,
              json_agg(json_build_object('currency', currency, 'conversions', conversions, 'value', value)
                       ORDER BY conversions DESC, currency) AS values
         FROM summed GROUP BY kind, rank, ${list} ORDER BY kind, rank`,
      [sites, from, to, limit],
    );
    const { rows: totals } = await client.query<{ conversions: number; matched: number }>(
      `SELECT coalesce(sum(conversions), 0)::float8 AS conversions, coalesce(sum(matched), 0)::float8 AS matched
         FROM cc.conversion_statistics WHERE site = ANY ($1) AND quarter >= $2 AND quarter < $3`,
      [sites, from, to],
    );
    const { conversions, matched } = totals[0] ?? { conversions: 0, matched: 0 };
    const groupOf = (kind: Row['kind']) => toGroup(rows.find((row) => row.kind === kind)?.values ?? []);
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      items: rows
        .filter(({ kind }) => kind === 'item')
        .map(({ kind: _, matched: __, values, ...row }) => ({ ...row, ...toGroup(values) })),
      other: groupOf('other'),
      notMatched: groupOf('not_matched'),
      unknown: conversions - rows.reduce((sum, { values }) => sum + countOf(values), 0),
      unknownMatched: matched - rows.reduce((sum, row) => sum + (row.matched ?? 0), 0),
      matched,
    };
  });
}

function toGroup(values: readonly CurrencyValue[]): Group {
  return { conversions: countOf(values), values };
}

function countOf(values: readonly CurrencyValue[]): number {
  return values.reduce((sum, { conversions }) => sum + conversions, 0);
}
