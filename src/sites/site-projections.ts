import { AUTH } from '../events/auth.events.js';
import { SITE } from '../events/site.events.js';
import type { Page, Projection } from '../log/projection.js';
import { evolve, type Site } from './site.js';
import type { SiteWebhook } from './webhook.js';

interface StoredSite extends Omit<Site, 'createdAt' | 'webhook'> {
  readonly webhook: SiteWebhook | null;
  readonly createdAt: Date;
}

/** One row per site, for people and for tools that speak SQL; requests are answered from memory. */
export const sitesProjection: Projection = {
  name: 'sites',
  tables: ['sites'],
  async fold(page: Page): Promise<void> {
    const events = await page.events({ categories: [SITE] });
    if (events.length === 0) return;
    const ids = [...new Set(events.map((event) => event.stream.slice(SITE.length + 1)))];
    const { rows } = await page.tx.query<StoredSite>(
      `SELECT id, host, aliases, inbound, settings, keys, connections, webhook, created_at AS "createdAt"
         FROM sites WHERE id = ANY ($1)`,
      [ids],
    );
    const sites = new Map<string, Site>(
      rows.map((row) => [
        row.id,
        { ...row, webhook: row.webhook ?? undefined, createdAt: row.createdAt.toISOString() },
      ]),
    );
    for (const event of events) {
      const id = event.stream.slice(SITE.length + 1);
      const site = evolve(sites.get(id), event);
      if (site) sites.set(id, site);
    }
    await page.tx.query(
      `INSERT INTO sites (id, host, aliases, inbound, settings, keys, connections, webhook, created_at)
       SELECT id, host, aliases, inbound, settings, keys, connections, webhook, "createdAt"
         FROM json_to_recordset($1) AS s (
         id uuid, host text, aliases json, inbound boolean, settings json, keys json, connections json, webhook json,
         "createdAt" timestamptz)
       ON CONFLICT (id) DO UPDATE SET (host, aliases, inbound, settings, keys, connections, webhook, created_at) =
         (excluded.host, excluded.aliases, excluded.inbound, excluded.settings, excluded.keys, excluded.connections,
          excluded.webhook, excluded.created_at)`,
      [JSON.stringify([...sites.values()])],
    );
  },
};

/** When each key was last used: the time of its newest event. */
export const keyUsageProjection: Projection = {
  name: 'key_usage',
  tables: ['key_usage'],
  async fold(page: Page): Promise<void> {
    const newest = await page.newestByActor('key:');
    if (newest.length === 0) return;
    await page.tx.query(
      `INSERT INTO key_usage (key_id, last_used_at) SELECT * FROM unnest($1::uuid[], $2::timestamptz[])
       ON CONFLICT (key_id) DO UPDATE SET last_used_at = greatest(key_usage.last_used_at, excluded.last_used_at)`,
      [newest.map(({ actor }) => actor.slice('key:'.length)), newest.map(({ time }) => time)],
    );
  },
};

/** Failed authentications by site and minute. */
export const authFailuresProjection: Projection = {
  name: 'auth_failures',
  tables: ['auth_failures'],
  async fold(page: Page): Promise<void> {
    const counts = new Map<string, { site: string; minute: string; failed: number; throttled: number }>();
    for (const event of await page.events({ categories: [AUTH] })) {
      const minute = `${event.time.slice(0, 16)}:00Z`;
      const id = `${event.site} ${minute}`;
      const count = counts.get(id) ?? { site: event.site, minute, failed: 0, throttled: 0 };
      if (event.type === 'auth.failed.v1') count.failed += 1;
      if (event.type === 'auth.throttled.v1') count.throttled += event.data.count;
      counts.set(id, count);
    }
    if (counts.size === 0) return;
    await page.tx.query(
      `INSERT INTO auth_failures (site, minute, failed, throttled)
       SELECT site, minute, failed, throttled FROM json_to_recordset($1) AS c (
         site text, minute timestamptz, failed bigint, throttled bigint)
       ON CONFLICT (site, minute) DO UPDATE SET failed = auth_failures.failed + excluded.failed,
         throttled = auth_failures.throttled + excluded.throttled`,
      [JSON.stringify([...counts.values()])],
    );
  },
};
