import type { EventRow } from '../log/event-row.js';
import type { Page, Projection } from '../log/projection.js';
import { StagedRows, type StagedTable } from '../log/staging-table.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { botClaim } from '../visitors/record-visit.js';
import { type DedupFields, dedupKey } from './dedup-key.js';

const FILTERED = 'conversion.filtered.v1';
const BOT = 'visitor.bot_detected.v1';
const CLAIMS: StagedTable = { table: 'dedup', key: ['site', 'key'], others: ['stream', 'weak', 'at'] };

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
    prunedBy: 'at',
    stagingTable: CLAIMS,
    async fold(page: Page): Promise<void> {
      // As text and nothing else: a rebuild makes millions of them, and objects would cost as much as the rest.
      const claims = new StagedRows();
      const unknownSites = new Set<string>();
      const take = (row: EventRow) => {
        const secret = secretOf.get(row.site);
        if (secret === undefined) unknownSites.add(row.site);
        else claims.add(claimOf(row, secret));
      };
      await page.each({ types: ['conversion.received.v1', FILTERED, BOT] }, take, 'subject');
      if (unknownSites.size > 0) {
        for (const site of unknownSites) secretOf.set(site, await secrets.dedupSecret(site));
        await this.fold(page);
      } else await claims.addTo(page.tx, CLAIMS);
    },
  };
}

/** As a line of the stagingTable; empty where the event holds no key. */
function claimOf(row: EventRow, secret: string): string {
  const { position, type, site, subject, streamId, time } = row;
  const data = row.data();
  const isBot = type === BOT;
  if (subject === undefined && (isBot || data['orderId'] === undefined)) return '';
  const key = isBot
    ? botClaim(data['visit'] as string)
    : dedupKey(secret, data as unknown as DedupFields, subject ?? '');
  return `${position}\t${site}\t${key}\t${streamId}\t${type === FILTERED}\t${time}\n`;
}
