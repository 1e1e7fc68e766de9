import type { Pool } from 'pg';

/** In one snapshot, so that a pause meanwhile is no difference. */
const DIFFERENCES = `
SELECT coalesce(e.site, p.site) AS site, p.site IS NOT NULL AS "isRefused"
  FROM (SELECT DISTINCT ON (site) site, type FROM cc.events
         WHERE category = 'site' AND type IN ('site.registered.v1', 'site.paused.v1', 'site.resumed.v1', 'site.removed.v1')
         ORDER BY site, position DESC) e
  FULL JOIN cc.paused_sites p ON p.site = e.site COLLATE "C"
 WHERE (p.site IS NOT NULL) <> (coalesce(e.type, '') = 'site.paused.v1')
 ORDER BY 1`;

/** Sites that the append refuses although the log says that they are not paused, or the other way round. */
export async function readPauseDifferences(pool: Pool): Promise<{ site: string; isRefused: boolean }[]> {
  return (await pool.query<{ site: string; isRefused: boolean }>(DIFFERENCES)).rows;
}
