import type { ClientBase, Pool } from 'pg';

export type Hold = 'none' | 'paused' | 'closed';

export interface HoldDifference {
  readonly site: string;
  /** What the log says. */
  readonly expected: Hold;
  /** What the append does. */
  readonly found: Hold;
}

/**
 * In one snapshot, so that a pause meanwhile is no difference. A site that has left, or whose events are being copied, is closed, as is one
 * that another cell has. One that is about to leave is paused.
 */
const DIFFERENCES = `
SELECT * FROM (
  SELECT coalesce(e.site, p.site) AS site,
         CASE WHEN e.closed > e.opened OR m.site IS NOT NULL OR x.site IS NOT NULL THEN 'closed' WHEN e.paused > e.continued OR e.leaving > e.stayed THEN 'paused' ELSE 'none' END AS expected,
         CASE WHEN p.closed THEN 'closed' WHEN p.site IS NOT NULL THEN 'paused' ELSE 'none' END AS found
    FROM (SELECT site,
                 coalesce(max(position) FILTER (WHERE type = 'site.moved_out.v1'), 0) AS closed,
                 coalesce(max(position) FILTER (WHERE type = 'site.moved_in.v1'), 0) AS opened,
                 coalesce(max(position) FILTER (WHERE type = 'site.move_started.v1'), 0) AS leaving,
                 coalesce(max(position) FILTER (
                   WHERE type IN ('site.move_cancelled.v1', 'site.moved_out.v1')), 0) AS stayed,
                 coalesce(max(position) FILTER (WHERE type = 'site.paused.v1'), 0) AS paused,
                 coalesce(max(position) FILTER (
                   WHERE type IN ('site.registered.v1', 'site.resumed.v1', 'site.removed.v1')), 0) AS continued
            FROM cc.events WHERE category = 'site' GROUP BY site) e
    FULL JOIN cc.paused_sites p ON p.site = e.site COLLATE "C"
    LEFT JOIN cc.site_moves m ON m.site = coalesce(e.site, p.site) COLLATE "C" AND m.direction = 'in' AND NOT m.done
    LEFT JOIN cc.sites_elsewhere x ON x.site = coalesce(e.site, p.site) COLLATE "C") each
 WHERE expected <> found
 ORDER BY site`;

/** Sites of which the append refuses more, or less, than the log says. */
export async function readHoldDifferences(pool: Pick<Pool | ClientBase, 'query'>): Promise<HoldDifference[]> {
  return (await pool.query<HoldDifference>(DIFFERENCES)).rows;
}
