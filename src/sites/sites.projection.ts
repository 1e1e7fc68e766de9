import { SITE } from '../events/site.events.js';
import type { Page, Projection } from '../log/projections/projection.js';
import { listEvents } from '../log/projections/reducer.js';
import { evolve, type Site, type SiteMove } from './site.js';
import type { SiteWebhook } from './webhook.js';

interface StoredSite extends Omit<Site, 'createdAt' | 'since' | 'move' | 'webhook' | 'removed' | 'filters'> {
  readonly removed: boolean;
  readonly move: SiteMove | null;
  readonly webhook: SiteWebhook | null;
  readonly createdAt: Date;
}

const EVENTS = listEvents({ categories: [SITE] });

/** Without the lists that name people, which an erasure would have to find here too. */
function rowOf({
  settings: { blocked: _, blockIps: __, allowIps: ___, ...settings },
  filters: ____,
  since: _____,
  ...site
}: Site) {
  return { ...site, settings };
}

/** One row per host that a site has or had, for the command line and for SQL clients. Requests are answered from `SiteDirectory`. */
export const sitesProjection: Projection = {
  name: 'sites',
  tables: ['sites'],
  reducers: [EVENTS],
  async fold(page: Page): Promise<void> {
    const events = await page.reduce(EVENTS);
    if (events.length === 0) return;
    const hosts = [...new Set(events.map(({ site }) => site))];
    const { rows } = await page.tx.query<StoredSite>(
      `SELECT id, host, aliases, inbound, paused, epoch, move, settings, keys, connections, sources, webhook, removed, created_at AS "createdAt"
         FROM sites WHERE host = ANY ($1)`,
      [hosts],
    );
    const sites = new Map<string, Site>(
      rows.map((row) => [
        row.host,
        {
          ...row,
          move: row.move ?? undefined,
          webhook: row.webhook ?? undefined,
          removed: row.removed || undefined,
          filters: [],
          createdAt: row.createdAt.toISOString(),
        },
      ]),
    );
    for (const event of events) {
      const site = evolve(sites.get(event.site), event);
      if (site) sites.set(event.site, site);
    }
    // An earlier site with the host has another id.
    await page.tx.query(
      'DELETE FROM sites s USING unnest($1::text[], $2::uuid[]) AS n (host, id) WHERE s.host = n.host AND s.id <> n.id',
      [[...sites.values()].map(({ host }) => host), [...sites.values()].map(({ id }) => id)],
    );
    await page.tx.query(
      `INSERT INTO sites (id, host, aliases, inbound, paused, epoch, move, settings, keys, connections, sources, webhook, removed, created_at)
       SELECT id, host, aliases, inbound, paused, epoch, move, settings, keys, connections, sources, webhook, coalesce(removed, false), "createdAt"
         FROM json_to_recordset($1) AS s (
         id uuid, host text, aliases json, inbound boolean, paused boolean, epoch integer, move json, settings json, keys json,
         connections json, sources json, webhook json, removed boolean, "createdAt" timestamptz)
       ON CONFLICT (id) DO UPDATE SET
         (host, aliases, inbound, paused, epoch, move, settings, keys, connections, sources, webhook, removed, created_at) =
         (excluded.host, excluded.aliases, excluded.inbound, excluded.paused, excluded.epoch, excluded.move, excluded.settings,
          excluded.keys, excluded.connections, excluded.sources, excluded.webhook, excluded.removed, excluded.created_at)`,
      [JSON.stringify([...sites.values()].map(rowOf))],
    );
  },
};
