import type { ClientBase } from 'pg';
import type { Site } from '../../sites/site.js';
import type { MatchRates, Silence } from './conversion-items.js';

const QUARTER_MS = 15 * 60_000;

/**
 * Since when each site is silent, in whole quarters of an hour, and what it received at the same time of earlier weeks. They are counted
 * from the beginning of the silence, so they stay the same however long it lasts; of a long silence its first week counts.
 */
export async function readSilences(
  client: ClientBase,
  sites: readonly Site[],
  nowMs: number,
): Promise<Map<string, Silence>> {
  const untilMs = Math.floor(nowMs / QUARTER_MS) * QUARTER_MS;
  const { rows } = await client.query<{ site: string; since: Date; usual: number[] }>(
    `WITH silent AS MATERIALIZED (
       SELECT s.site, greatest(l.quarter + interval '15 min', date_bin('15 min', s.since, 'epoch') + interval '15 min') AS since
         FROM unnest($1::text[], $2::timestamptz[]) AS s (site, since)
         CROSS JOIN LATERAL (SELECT quarter FROM cc.conversion_statistics c
                              WHERE c.site = s.site AND conversions > 0 ORDER BY quarter DESC LIMIT 1) l)
     SELECT site, since, array_agg(conversions ORDER BY week) AS usual
       FROM (SELECT s.site, s.since, week, min(counted.conversions)::float8 AS conversions
               FROM silent s CROSS JOIN generate_series(1, 4) AS week CROSS JOIN generate_series(-1, 1) AS hour
              CROSS JOIN LATERAL (
                SELECT s.since - week * interval '168 hours' + hour * interval '1 hour' AS first) f
              CROSS JOIN LATERAL (
                SELECT coalesce(sum(c.conversions), 0) AS conversions FROM cc.conversion_statistics c
                 WHERE c.site = s.site AND c.quarter >= f.first
                   AND c.quarter < f.first + least($3 - s.since, interval '168 hours')) counted
              WHERE s.since < $3
              GROUP BY 1, 2, 3) weeks
      GROUP BY 1, 2`,
    [
      sites.map(({ host }) => host),
      sites.map(({ openSince, createdAt }) => new Date(openSince ?? createdAt)),
      new Date(untilMs),
    ],
  );
  return new Map(rows.map(({ site, since, usual }) => [site, { sinceMs: since.getTime(), untilMs, usual }]));
}

/** Without matches that were found later: those of recent conversions are not all known yet. */
export async function readMatchRates(
  client: ClientBase,
  sites: readonly Site[],
  nowMs: number,
): Promise<Map<string, MatchRates>> {
  const { rows } = await client.query<{ site: string } & Record<string, number>>(
    `SELECT site,
            coalesce(sum(conversions) FILTER (WHERE day >= d.today - 1), 0)::float8 AS recent,
            coalesce(sum(matched - late) FILTER (WHERE day >= d.today - 1), 0)::float8 AS "recentMatched",
            coalesce(sum(conversions) FILTER (WHERE day < d.today - 1), 0)::float8 AS usual,
            coalesce(sum(matched - late) FILTER (WHERE day < d.today - 1), 0)::float8 AS "usualMatched"
       FROM cc.match_rate, (SELECT ($2::timestamptz AT TIME ZONE 'UTC')::date AS today) d
      WHERE site = ANY ($1) AND day >= d.today - 29 GROUP BY 1`,
    [sites.map(({ host }) => host), new Date(nowMs)],
  );
  return new Map(
    rows.map(({ site, recent = 0, recentMatched = 0, usual = 0, usualMatched = 0 }) => [
      site,
      {
        recent: { conversions: recent, matched: recentMatched },
        usual: { conversions: usual, matched: usualMatched },
      },
    ]),
  );
}
