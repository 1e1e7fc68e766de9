import { platformOfConnection } from '../platforms/index.js';
import type { Postgres } from '../postgres/postgres.js';
import type { Site } from '../sites/site.js';
import { type Period, toQuarters } from './buckets.js';
import { carriedOf, matchedOf } from './identifier-counts.js';
import { type AsOf, readSnapshot } from './snapshot.js';
import { type UsedIdentifier, usedIdentifiers } from './used-identifiers.js';

/** How much an identifier contributes to a match, as far as platforms tell: a click id, address or phone finds a person alone. */
const WEIGHTS: Readonly<Record<string, number>> = { click_id: 3, email: 3, phone: 3, external_id: 2, cookie: 2 };

/** Conversions that were received for the same connections. */
export interface CarriedCount {
  readonly platforms: readonly string[];
  readonly conversions: number;
  /** How many carried each identifier, as stored. */
  readonly carried: readonly number[];
}

export interface PlatformQuality {
  /** Name of the connection. */
  readonly platform: string;
  readonly conversions: number;
  /** Conversions that were matched to a visit. */
  readonly matched: number;
  readonly matchRate: number | null;
  readonly identifiers: readonly {
    readonly identifier: string;
    readonly carried: number;
    readonly share: number | null;
  }[];
  /** The identifier whose absence costs most; null if none is missing. */
  readonly helpsMost: { readonly identifier: string; readonly missing: number } | null;
}

export interface MatchQuality {
  readonly asOf: AsOf;
  readonly from: string;
  readonly to: string;
  readonly items: readonly PlatformQuality[];
}

/** Which identifiers the conversions of a site carried for each of its connections. Erased and expired ones are not included. */
export function readMatchQuality(
  postgres: Postgres,
  { host, connections }: Pick<Site, 'host' | 'connections'>,
  period: Period,
): Promise<MatchQuality> {
  const { fromMs, toMs } = toQuarters(period);
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  return readSnapshot(postgres, ['statistics'], async (client) => {
    const { rows } = await client.query<CarriedCount>(
      `WITH stored AS (
         SELECT platforms, conversions, carried FROM cc.identifier_statistics
          WHERE site = $1 AND quarter >= $2 AND quarter < $3),
       counts AS (
         SELECT platforms, index, sum(count)::float8 AS count
           FROM stored, unnest(carried) WITH ORDINALITY AS c (count, index) GROUP BY 1, 2)
       SELECT string_to_array(platforms, ',') AS platforms, sum(conversions)::float8 AS conversions,
              (SELECT array_agg(count ORDER BY index) FROM counts WHERE counts.platforms = stored.platforms) AS carried
         FROM stored GROUP BY stored.platforms`,
      [host, from, to],
    );
    const items = connections.flatMap((connection) => {
      const { platform: name, settings, disconnected } = connection;
      const platform = disconnected ? undefined : platformOfConnection(connection);
      return platform ? [qualityOf(name, usedIdentifiers(platform, settings), rows)] : [];
    });
    return { from: from.toISOString(), to: to.toISOString(), items };
  });
}

export function qualityOf(
  platform: string,
  used: readonly UsedIdentifier[],
  counts: readonly CarriedCount[],
): PlatformQuality {
  const own = counts.filter(({ platforms }) => platforms.includes(platform));
  const sum = (of: (count: CarriedCount) => number) => own.reduce((total, count) => total + of(count), 0);
  const conversions = sum((count) => count.conversions);
  const matched = sum(({ carried }) => matchedOf(carried));
  const shareOf = (count: number) => (conversions === 0 ? null : count / conversions);
  const identifiers = used.map((one) => {
    const carried = sum((count) => carriedOf(count.carried, one));
    return { identifier: one.identifier, carried, share: shareOf(carried) };
  });
  const missing = identifiers
    .map(({ identifier, carried }) => ({ identifier, missing: conversions - carried }))
    .filter((one) => one.missing > 0)
    .sort(
      (one, other) => other.missing * weightOf(other) - one.missing * weightOf(one) || weightOf(other) - weightOf(one),
    );
  return { platform, conversions, matched, matchRate: shareOf(matched), identifiers, helpsMost: missing[0] ?? null };
}

function weightOf({ identifier }: { readonly identifier: string }): number {
  return WEIGHTS[identifier] ?? 1;
}
