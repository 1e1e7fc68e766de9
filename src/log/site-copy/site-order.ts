import { findLastBefore } from '../bisect.js';
import type { Queryable } from '../event-reader.js';

/** The copied events of a site, by the index `events_copied`. */
const COPIED = `e.site = $1 AND e.origin IS NOT NULL`;

/**
 * The position in this log that separates the events of a site up to a place of its order from the later ones. The order of a
 * site's events is that of their positions, and an event has a lower place in it than its position if it was copied, so the
 * separating position is either the place itself or that of the last copied event up to it.
 */
export async function readPositionOf(source: Queryable, site: string, place: number): Promise<number> {
  const { rows } = await source.query<{ position: number }>({
    name: 'read-position-of-place',
    text: `SELECT e.position::float8 AS position FROM cc.events e WHERE ${COPIED} AND e.origin <= $2
            ORDER BY e.origin DESC LIMIT 1`,
    values: [site, place],
  });
  return Math.max(place, rows[0]?.position ?? 0);
}

/** Position of the last copied event of a site before a time, by when it was stored first; 0 if there is none. */
export async function readCopiedBefore(source: Queryable, site: string, time: Date): Promise<number> {
  const { rows } = await source.query<{ last: number | null }>({
    name: 'read-last-copied',
    text: `SELECT max(e.origin)::float8 AS last FROM cc.events e WHERE ${COPIED}`,
    values: [site],
  });
  const positions = new Map<number, number>();
  const last = await findLastBefore(rows[0]?.last ?? 0, async (places) => {
    const next = await source.query<{ after: number; origin: number; position: number; is_before: boolean }>({
      name: 'read-copied-after',
      text: `SELECT p.after::float8 AS after, e.origin::float8 AS origin, e.position::float8 AS position, e.time < $3 AS is_before
               FROM unnest($2::bigint[]) AS p (after) CROSS JOIN LATERAL (
                 SELECT e.origin, e.position, e.time FROM cc.events e WHERE ${COPIED} AND e.origin > p.after
                  ORDER BY e.origin LIMIT 1) e`,
      values: [site, places, time],
    });
    for (const { origin, position } of next.rows) positions.set(origin, position);
    return new Map(
      next.rows.map(({ after, origin, is_before: isBefore }) => [after, { place: origin, isBefore }] as const),
    );
  });
  return positions.get(last) ?? 0;
}

/** The sites that came into this log from another one. */
export async function readCopiedSites(source: Queryable): Promise<string[]> {
  const { rows } = await source.query<{ site: string }>(
    `SELECT DISTINCT site FROM cc.events WHERE category = 'site' AND origin IS NOT NULL ORDER BY site`,
  );
  return rows.map(({ site }) => site);
}
