import { platformOf } from '../platforms/index.js';
import type { Postgres } from '../postgres/postgres.js';
import type { Site } from '../sites/site.js';
import { type Period, toQuarters } from './buckets.js';
import { type AsOf, readSnapshot } from './snapshot.js';
import { type UsedIdentifier, usedIdentifiers } from './used-identifiers.js';

/** How much an identifier contributes to a match, as far as platforms tell: a click id, address or phone finds a person alone. */
const WEIGHTS: Readonly<Record<string, number>> = { click_id: 3, email: 3, phone: 3, external_id: 2, cookie: 2 };

/** Conversions that are alike: how many were received for these connections with these identifiers. */
export interface CarriedCount {
  readonly platforms: readonly string[];
  readonly identifiers: readonly string[];
  readonly matched: boolean;
  readonly count: number;
}

export interface PlatformQuality {
  /** Name of the connection. */
  readonly platform: string;
  readonly conversions: number;
  /** Of these, matched to a visit. */
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
  return readSnapshot(postgres, ['attributions'], async (client) => {
    const { rows } = await client.query<CarriedCount>(
      `SELECT platforms, identifiers, matched, count(*)::float8 AS count FROM cc.attributions
        WHERE site = $1 AND time >= $2 AND time < $3 GROUP BY 1, 2, 3`,
      [host, from, to],
    );
    const items = connections.flatMap(({ platform: name, settings, disconnected }) => {
      const platform = disconnected ? undefined : platformOf(name);
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
  const sum = (of: readonly CarriedCount[]) => of.reduce((total, { count }) => total + count, 0);
  const conversions = sum(own);
  const matched = sum(own.filter((one) => one.matched));
  const shareOf = (count: number) => (conversions === 0 ? null : count / conversions);
  const identifiers = used.map(({ identifier, anyOf }) => {
    const carried = sum(own.filter((one) => one.identifiers.some((name) => anyOf.includes(name))));
    return { identifier, carried, share: shareOf(carried) };
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
