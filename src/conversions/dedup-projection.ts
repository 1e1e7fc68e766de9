import { CONVERSION } from '../dispatch/delivery.js';
import type { Page, Projection } from '../log/projection.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { type ConversionData } from './conversion.js';
import { dedupKey } from './dedup-key.js';

/**
 * Who holds which duplicate key. The append writes these rows itself; here they are folded anew. A conversion that was
 * received or filtered held its key from then on, so the newest of each key holds it. One whose person was erased and
 * that had no order held a key nobody can make again: its claim was erased with it.
 */
export function dedupProjection(secrets: SiteSecrets): Projection {
  return {
    name: 'dedup',
    tables: ['dedup'],
    inline: true,
    forgetsBy: 'at',
    async fold(page: Page): Promise<void> {
      const claims = new Map<string, { site: string; key: string; stream: string; weak: boolean; at: string }>();
      const secretOf = new Map<string, string>();
      for (const event of await page.events({ types: ['conversion.received.v1', 'conversion.filtered.v1'] })) {
        const data = event.data as unknown as ConversionData;
        const subject = event.personal?.subject;
        if (subject === undefined && data.orderId === undefined) continue;
        const secret = secretOf.get(event.site) ?? (await secrets.dedupSecret(event.site));
        secretOf.set(event.site, secret);
        const key = dedupKey(secret, data, subject ?? '');
        const stream = event.stream.slice(CONVERSION.length + 1);
        claims.set(`${event.site} ${key}`, {
          site: event.site,
          key,
          stream,
          weak: event.type === 'conversion.filtered.v1',
          at: event.time,
        });
      }
      if (claims.size === 0) return;
      await page.tx.query(
        `INSERT INTO dedup (site, key, stream, weak, at)
         SELECT site, key, stream, weak, at FROM json_to_recordset($1) AS c (
           site text, key uuid, stream uuid, weak boolean, at timestamptz)
         ON CONFLICT (site, key) DO UPDATE SET (stream, weak, at) = (excluded.stream, excluded.weak, excluded.at)`,
        [JSON.stringify([...claims.values()])],
      );
    },
  };
}
