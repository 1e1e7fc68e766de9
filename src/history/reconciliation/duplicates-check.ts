import type { Client } from 'pg';
import type { ConversionData } from '../../conversions/conversion.js';
import { dedupKey } from '../../conversions/dedup-key.js';
import { dedupWindowOf } from '../../conversions/dedup-window.js';
import type { StoredEvent } from '../../log/event.js';
import { copyEvents } from '../../log/event-reader.js';
import { evolve, SITE, type Site } from '../../sites/site.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import type { Check, VerifyWorld } from '../verify.js';

const PAGE_EVENTS = 20_000;
/** An instance hears of a changed window a moment after it was changed: so much later it may still have used the old one. */
const HEARD_WITHIN_MS = 2_000;
const TYPES = ['conversion.received.v1', 'conversion.filtered.v1'];

interface ClaimRow {
  readonly site: string;
  readonly key: string;
  readonly position: number;
  readonly weak: boolean;
  readonly atMs: number;
  /** How far back an earlier one would have made it a duplicate. */
  readonly sinceMs: number;
}

/**
 * One conversion per duplicate key and window. The keys are made anew from the log, with the window each site had at the
 * time, and sorted by the database: two claims on one key that are closer than the window should not both be there.
 */
export const duplicatesCheck: Check = {
  name: 'duplicates',
  async examine(world) {
    const client = await world.postgres.connectAsOwner('verify');
    try {
      await client.query(
        `CREATE TEMP TABLE claims (site text COLLATE "C", key uuid, position bigint, weak boolean, at bigint, since bigint)`,
      );
      const claims = await writeClaims(client, world);
      const { rows } = await client.query<{ position: string; before: string }>(TOO_CLOSE);
      if (rows.length === 0) return { ok: true, detail: `${claims} claims, none within the window of another` };
      const first = `the conversion at position ${rows[0]?.position} repeats the one at ${rows[0]?.before}`;
      return { ok: false, detail: `${rows.length} were counted that repeat another: ${first}` };
    } finally {
      await client.end();
    }
  },
};

/** A real one is refused by an earlier real one, a filtered one by any. */
const TOO_CLOSE = `
  SELECT position, CASE WHEN weak THEN any_position ELSE real_position END AS before FROM (
    SELECT position, weak, since,
           max(at) OVER earlier AS any_at, max(position) OVER earlier AS any_position,
           max(at) FILTER (WHERE NOT weak) OVER earlier AS real_at,
           max(position) FILTER (WHERE NOT weak) OVER earlier AS real_position
      FROM claims
    WINDOW earlier AS (PARTITION BY site, key ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) c
   WHERE CASE WHEN weak THEN any_at ELSE real_at END > since ORDER BY position`;

async function writeClaims(client: Client, world: VerifyWorld): Promise<number> {
  const reader = await world.postgres.connect('verify');
  const windows = new Windows(world.settings.dedupWindowMs);
  const secretOf = new Map<string, string>();
  let claims = 0;
  try {
    for (let after = 0; ; ) {
      const page: StoredEvent[] = [];
      const read = await copyEvents(reader, { after, until: world.until, limit: PAGE_EVENTS }, (row) => {
        if (TYPES.includes(row.type) || row.type.startsWith(`${SITE}.`)) page.push(row.event());
        after = row.position;
      });
      const rows = await claimsOf(page, windows, secretOf, world.secrets);
      claims += rows.length;
      await client.query(
        `INSERT INTO claims SELECT site, key, position, weak, "atMs", "sinceMs" FROM json_to_recordset($1) AS c (
           site text, key uuid, position bigint, weak boolean, "atMs" bigint, "sinceMs" bigint)`,
        [JSON.stringify(rows)],
      );
      world.progress(`duplicates: up to position ${after}`);
      if (read < PAGE_EVENTS) return claims;
    }
  } finally {
    await reader.end();
  }
}

async function claimsOf(
  page: readonly StoredEvent[],
  windows: Windows,
  secretOf: Map<string, string>,
  secrets: SiteSecrets,
): Promise<ClaimRow[]> {
  const rows: ClaimRow[] = [];
  for (const event of page) {
    if (!TYPES.includes(event.type)) {
      windows.apply(event);
      continue;
    }
    const data = event.data as unknown as ConversionData;
    const subject = event.personal?.subject;
    // Of an erased person without an order: nobody can make that key again.
    if (subject === undefined && data.orderId === undefined) continue;
    const secret = secretOf.get(event.site) ?? (await secrets.dedupSecret(event.site));
    secretOf.set(event.site, secret);
    const atMs = Date.parse(event.time);
    rows.push({
      site: event.site,
      key: dedupKey(secret, data, subject ?? ''),
      position: event.position,
      weak: event.type === 'conversion.filtered.v1',
      atMs,
      sinceMs: atMs - windows.of(event.site, atMs),
    });
  }
  return rows;
}

/** The duplicate window of each site as the log goes on. */
class Windows {
  private readonly sites = new Map<string, Site>();
  private readonly known = new Map<string, { windowMs: number; earlierMs: number; changedAtMs: number }>();

  constructor(private readonly defaultMs: number) {}

  apply(event: StoredEvent): void {
    const site = evolve(this.sites.get(event.site), event);
    if (!site) return;
    this.sites.set(event.site, site);
    const windowMs = dedupWindowOf(site.settings, this.defaultMs);
    const before = this.known.get(event.site)?.windowMs ?? windowMs;
    if (before !== windowMs || !this.known.has(event.site))
      this.known.set(event.site, { windowMs, earlierMs: before, changedAtMs: Date.parse(event.time) });
  }

  of(site: string, atMs: number): number {
    const { windowMs, earlierMs, changedAtMs } = this.known.get(site) ?? {
      windowMs: this.defaultMs,
      earlierMs: this.defaultMs,
      changedAtMs: 0,
    };
    return atMs - changedAtMs < HEARD_WITHIN_MS ? Math.min(windowMs, earlierMs) : windowMs;
  }
}
