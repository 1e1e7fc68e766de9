import type { ConversionData } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Page, Projection } from '../log/projections/projection.js';
import type { PageRow } from '../log/projections/reducer.js';
import { StagedRows, type StagedTable } from '../log/projections/staging-table.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { botClaimKey } from '../visitors/identifier-record.js';
import { dedupKey } from './dedup-key.js';

const FILTERED = 'conversion.filtered.v1';
const BOT = 'visitor.bot_detected.v1';
const REGISTERED = 'site.registered.v1';
const CLAIMS: StagedTable = { table: 'dedup', key: ['site', 'key'], others: ['stream', 'weak', 'at'] };

/**
 * Dedup claims: which stream holds which dedup key. The append writes them in its own transaction; `fold` only rebuilds them.
 * A received or filtered conversion holds its key until a newer one with the same key. A visit detected as a bot also holds
 * a key, so that it is counted once. There is no subject column: `log/erasure.ts` deletes claims by stream, and a rebuild
 * cannot restore them, because the key of a conversion without an order is derived from the erased subject.
 */
export function dedupProjection(secrets: SiteSecrets): Projection {
  const secretOf = new Map<string, string>();
  const beginnings = new Map<string, number>();
  /** A site whose host an earlier one had has another secret, perhaps since the last fold. */
  const begin = ({ site, position }: PageRow) => {
    if (beginnings.get(site) === position) return;
    beginnings.set(site, position);
    secretOf.delete(site);
  };
  return {
    name: 'dedup',
    tables: ['dedup'],
    inline: true,
    bySite: true,
    prunedBy: { dedup: 'at' },
    stagingTable: CLAIMS,
    async fold(page: Page): Promise<void> {
      // Rows are built as text: a rebuild makes millions, and objects would double its cost.
      const claims = new StagedRows();
      const unknownSites = new Set<string>();
      const add = (row: PageRow) => {
        if (row.type === REGISTERED) return begin(row);
        const secret = secretOf.get(row.site);
        if (secret === undefined) unknownSites.add(row.site);
        else claims.add(claimOf(row, secret));
      };
      await page.each({ types: ['conversion.received.v1', FILTERED, BOT, REGISTERED] }, add, 'subject');
      if (unknownSites.size > 0) {
        for (const site of unknownSites) secretOf.set(site, await secrets.dedupSecret(site));
        await this.fold(page);
      } else await claims.addTo(page.tx, CLAIMS);
    },
  };
}

/** A line of the staging table; empty when the event holds no key. */
function claimOf(row: PageRow, secret: string): string {
  const { position, type, site, streamId, time } = row;
  const key = type === BOT ? botKeyOf(row) : conversionKeyOf(row, secret);
  if (key === undefined) return '';
  return `${position}\t${site}\t${key}\t${streamId}\t${type === FILTERED}\t${time}\n`;
}

function botKeyOf(row: PageRow): string | undefined {
  return row.subject === undefined ? undefined : botClaimKey((row.data() as StoredEvent<typeof BOT>['data']).visit);
}

/** Undefined for an erased person without an order: that key cannot be computed again. */
function conversionKeyOf(row: PageRow, secret: string): string | undefined {
  const data = row.data() as ConversionData;
  if (row.subject === undefined && data.orderId === undefined) return undefined;
  return dedupKey(secret, data, row.subject ?? '');
}
