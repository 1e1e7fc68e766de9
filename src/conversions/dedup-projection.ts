import type { Page, Projection } from '../log/projection.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { botClaim } from '../visitors/record-visit.js';
import { VISITOR } from '../visitors/visitor.js';
import { type ConversionData } from './conversion.js';
import { dedupKey } from './dedup-key.js';

const FILTERED = 'conversion.filtered.v1';

interface HeldKey {
  readonly site: string;
  readonly data: ConversionData;
  readonly subject: string;
  readonly stream: string;
  readonly weak: boolean;
  readonly at: string;
}

/**
 * Who holds which duplicate key. The append writes these rows itself; here they are folded anew. A conversion that was
 * received or filtered held its key from then on, so the newest of each key holds it. One whose person was erased and
 * that had no order held a key nobody can make again: its claim was erased with it. A visit that was found to be a bot's
 * holds a key as well, so that it counts once.
 */
export function dedupProjection(secrets: SiteSecrets): Projection {
  const secretOf = new Map<string, string>();
  return {
    name: 'dedup',
    tables: ['dedup'],
    inline: true,
    forgetsBy: 'at',
    async fold(page: Page): Promise<void> {
      // By site and key, each row as JSON: a rebuild makes millions of them, and objects would cost as much as the rest.
      const claims = new Map<string, string>();
      const claim = (secret: string, { site, data, subject, stream, weak, at }: HeldKey) => {
        const key = dedupKey(secret, data, subject);
        claims.set(`${site} ${key}`, rowOf(site, key, stream, weak, at));
      };
      const ofUnknownSites: HeldKey[] = [];
      await page.each({ types: ['conversion.received.v1', FILTERED] }, (row) => {
        const { site, subject, streamId: stream, time: at } = row;
        const data = row.data() as unknown as ConversionData;
        if (subject === undefined && data.orderId === undefined) return;
        const held = { site, data, subject: subject ?? '', stream, weak: row.type === FILTERED, at };
        const secret = secretOf.get(site);
        if (secret === undefined) ofUnknownSites.push(held);
        else claim(secret, held);
      });
      for (const held of ofUnknownSites) {
        const secret = secretOf.get(held.site) ?? (await secrets.dedupSecret(held.site));
        secretOf.set(held.site, secret);
        claim(secret, held);
      }
      for (const { site, stream, time, data, personal } of await page.events({ types: ['visitor.bot_detected.v1'] })) {
        if (!personal) continue;
        const key = botClaim(data['visit'] as string);
        claims.set(`${site} ${key}`, rowOf(site, key, stream.slice(VISITOR.length + 1), false, time));
      }
      if (claims.size === 0) return;
      await page.tx.query(
        `INSERT INTO dedup (site, key, stream, weak, at)
         SELECT site, key, stream, weak, at FROM json_to_recordset($1) AS c (
           site text, key uuid, stream uuid, weak boolean, at timestamptz)
         ON CONFLICT (site, key) DO UPDATE SET (stream, weak, at) = (excluded.stream, excluded.weak, excluded.at)`,
        [`[${[...claims.values()].join(',')}]`],
      );
    },
  };
}

function rowOf(site: string, key: string, stream: string, weak: boolean, at: string): string {
  return `{"site":${JSON.stringify(site)},"key":"${key}","stream":"${stream}","weak":${weak},"at":"${at}"}`;
}
