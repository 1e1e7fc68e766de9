import type { Client } from 'pg';
import { isOpening } from '../../conversions/conversion.js';
import { dedupKey, dedupWindowOf } from '../../conversions/dedup-key.js';
import { subjectOfPerson } from '../../events/person-keys.js';
import { SITE } from '../../events/site.events.js';
import { type ClockStep, effectiveTimeMs, readClockSteps } from '../../log/clock-steps.js';
import type { StoredEvent } from '../../log/event.js';
import { copyEvents } from '../../log/event-reader.js';
import { withConnection } from '../../postgres/with-connection.js';
import { evolve, type Site } from '../../sites/site.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import type { Check, VerifyDependencies } from '../verify.js';

const PAGE_EVENTS = 20_000;
/** Instances learn of a changed window with a delay. Until then they may use the old one. */
const SETTINGS_DELAY_MS = 2_000;
const TYPES = ['conversion.received.v1', 'conversion.filtered.v1'];

interface ClaimRow {
  readonly site: string;
  readonly key: string;
  readonly position: number;
  readonly weak: boolean;
  readonly atMs: number;
  /** When it counts from if the clock was ahead then, and has been set back since. */
  readonly effectiveMs: number;
  /** A claim after this time would have made the conversion a duplicate. */
  readonly sinceMs: number;
}

/**
 * One conversion per dedup key and window. The keys are recomputed from the log, with the window that each site had at that
 * time, and sorted by the database: two claims of one key that are closer than the window are a violation.
 */
export const duplicatesCheck: Check = {
  name: 'duplicates',
  async examine(dependencies) {
    return withConnection(dependencies.postgres.connectAsOwner('verify'), async (client) => {
      await client.query(
        `CREATE TEMP TABLE claims (site text COLLATE "C", key uuid, position bigint, weak boolean, at bigint, effective bigint, since bigint)`,
      );
      const claims = await writeClaims(client, dependencies);
      const { rows } = await client.query<{ position: string; before: string }>(TOO_CLOSE);
      if (rows.length === 0) return { ok: true, detail: `${claims} dedup claims, none within the window of another` };
      const first = `the conversion at position ${rows[0]?.position} repeats the one at ${rows[0]?.before}`;
      return { ok: false, detail: `${rows.length} duplicates were counted: ${first}` };
    });
  },
};

/**
 * The claim before refuses: a strong one any claim, a weak one weak claims only. One that was made while the clock was ahead counts from
 * the moment at which the clock was set back, as in the append.
 */
const TOO_CLOSE = `
  SELECT c.position, held.position AS before FROM (
    SELECT position, at, since, CASE WHEN weak THEN max(position) OVER earlier
                                     ELSE max(position) FILTER (WHERE NOT weak) OVER earlier END AS before
      FROM claims
    WINDOW earlier AS (PARTITION BY site, key ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) c
    JOIN claims held ON held.position = c.before
   WHERE CASE WHEN held.at > c.at THEN held.effective ELSE held.at END > c.since ORDER BY c.position`;

async function writeClaims(client: Client, dependencies: VerifyDependencies): Promise<number> {
  const windows = new DedupWindows(dependencies.settings.dedupWindowMs);
  const secretOf = new Map<string, string>();
  let claims = 0;
  return withConnection(dependencies.postgres.connect('verify'), async (reader) => {
    const steps = await readClockSteps(reader);
    for (let after = 0; ; ) {
      const page: StoredEvent[] = [];
      const read = await copyEvents(reader, { after, until: dependencies.until, limit: PAGE_EVENTS }, (row) => {
        if (TYPES.includes(row.type) || row.type.startsWith(`${SITE}.`)) page.push(row.event());
        after = row.position;
      });
      const rows = await claimsOf(page, windows, steps, secretOf, dependencies.secrets);
      claims += rows.length;
      await client.query(
        `INSERT INTO claims SELECT site, key, position, weak, "atMs", "effectiveMs", "sinceMs" FROM json_to_recordset($1) AS c (
           site text, key uuid, position bigint, weak boolean, "atMs" bigint, "effectiveMs" bigint, "sinceMs" bigint)`,
        [JSON.stringify(rows)],
      );
      dependencies.progress(`duplicates: up to position ${after}`);
      if (read < PAGE_EVENTS) return claims;
    }
  });
}

async function claimsOf(
  page: readonly StoredEvent[],
  windows: DedupWindows,
  steps: readonly ClockStep[],
  secretOf: Map<string, string>,
  secrets: SiteSecrets,
): Promise<ClaimRow[]> {
  const rows: ClaimRow[] = [];
  for (const event of page) {
    if (!isOpening(event)) {
      windows.apply(event);
      continue;
    }
    const { data } = event;
    const subject = event.personal ? subjectOfPerson(event.personal) : undefined;
    // The person was erased and there is no order: the key cannot be computed.
    if (subject === undefined && data.orderId === undefined) continue;
    const secret = secretOf.get(event.site) ?? (await secrets.dedupSecret(event.site));
    secretOf.set(event.site, secret);
    const atMs = Date.parse(event.time);
    rows.push({
      site: windows.siteAt(event.site),
      key: dedupKey(secret, data, subject ?? ''),
      position: event.position,
      weak: event.type === 'conversion.filtered.v1',
      atMs,
      effectiveMs: effectiveTimeMs(steps, event.position, atMs),
      sinceMs: atMs - windows.of(event.site, atMs),
    });
  }
  return rows;
}

/** The dedup window of each site at the position that the log has been read to. */
class DedupWindows {
  private readonly sites = new Map<string, Site>();
  private readonly windows = new Map<string, { windowMs: number; earlierMs: number; changedAtMs: number }>();

  constructor(private readonly defaultMs: number) {}

  apply(event: StoredEvent): void {
    const site = evolve(this.sites.get(event.site), event);
    if (!site) return;
    this.sites.set(event.site, site);
    const windowMs = dedupWindowOf(site.settings, this.defaultMs);
    const before = this.windows.get(event.site)?.windowMs ?? windowMs;
    if (before !== windowMs || !this.windows.has(event.site))
      this.windows.set(event.site, { windowMs, earlierMs: before, changedAtMs: Date.parse(event.time) });
  }

  /** Which site has the host: each has claims of its own. */
  siteAt(host: string): string {
    return this.sites.get(host)?.id ?? host;
  }

  of(site: string, atMs: number): number {
    const { windowMs, earlierMs, changedAtMs } = this.windows.get(site) ?? {
      windowMs: this.defaultMs,
      earlierMs: this.defaultMs,
      changedAtMs: 0,
    };
    return atMs - changedAtMs < SETTINGS_DELAY_MS ? Math.min(windowMs, earlierMs) : windowMs;
  }
}
