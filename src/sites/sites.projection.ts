import { SITE } from '../events/site.events.js';
import type { Page, Projection } from '../log/projection.js';
import { listEvents } from '../log/reducer.js';
import { evolve, type Site, type SiteMove } from './site.js';
import type { SiteWebhook } from './webhook.js';

interface StoredSite extends Omit<Site, 'createdAt' | 'move' | 'webhook' | 'removed' | 'filters'> {
  readonly removed: boolean;
  readonly move: SiteMove | null;
  readonly webhook: SiteWebhook | null;
  readonly createdAt: Date;
}

const EVENTS = listEvents({ categories: [SITE] });

/** Without the lists that name people, which an erasure would have to find here too. */
function rowOf({ settings: { blocked: _, blockIps: __, allowIps: ___, ...settings }, filters: ____, ...site }: Site) {
  return { ...site, settings };
}

/** One row per site, for the command line and for SQL clients. Requests are answered from `SiteDirectory`. */
export const sitesProjection: Projection = {
  name: 'sites',
  tables: ['sites'],
  reducers: [EVENTS],
  async fold(page: Page): Promise<void> {
    const events = await page.reduce(EVENTS);
    if (events.length === 0) return;
    const ids = [...new Set(events.map((event) => event.stream.slice(SITE.length + 1)))];
    const { rows } = await page.tx.query<StoredSite>(
      `SELECT id, host, aliases, inbound, paused, epoch, move, settings, keys, connections, webhook, removed, created_at AS "createdAt"
         FROM sites WHERE id = ANY ($1)`,
      [ids],
    );
    const sites = new Map<string, Site>(
      rows.map((row) => [
        row.id,
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
      const id = event.stream.slice(SITE.length + 1);
      const site = evolve(sites.get(id), event);
      if (site) sites.set(id, site);
    }
    await page.tx.query(
      `INSERT INTO sites (id, host, aliases, inbound, paused, epoch, move, settings, keys, connections, webhook, removed, created_at)
       SELECT id, host, aliases, inbound, paused, epoch, move, settings, keys, connections, webhook, coalesce(removed, false), "createdAt"
         FROM json_to_recordset($1) AS s (
         id uuid, host text, aliases json, inbound boolean, paused boolean, epoch integer, move json, settings json, keys json,
         connections json, webhook json, removed boolean, "createdAt" timestamptz)
       ON CONFLICT (id) DO UPDATE SET
         (host, aliases, inbound, paused, epoch, move, settings, keys, connections, webhook, removed, created_at) =
         (excluded.host, excluded.aliases, excluded.inbound, excluded.paused, excluded.epoch, excluded.move, excluded.settings,
          excluded.keys, excluded.connections, excluded.webhook, excluded.removed, excluded.created_at)`,
      [JSON.stringify([...sites.values()].map(rowOf))],
    );
  },
};
