import { type ClientBase, escapeLiteral } from 'pg';
import { isUuid } from '../kernel/uuid.js';
import { copyIn, copyOut } from './copy.js';
import { parseCopyText } from './copy-text.js';
import { IDLE_WITH_LOCK_MS } from './site-copy.js';
import { SiteCopyRefused } from './site-copy-errors.js';

const PAGE_CLAIMS_MAX = 50_000;
const ROW_BYTES_MAX = 200;
const COLUMNS = 4;
/** What ISO 8601 with four digits can state. */
const TIME_MAX_MS = Date.UTC(10_000, 0, 1) - 1;

export interface ClaimsCopy {
  /** Rows in the text format of COPY. */
  readonly rows: Buffer;
  readonly count: number;
  /** The last key; pass it on as `after`. Undefined if there are no more. */
  readonly last: string | undefined;
}

/** Dedup claims of a site in the order of their keys, after a key, at most `limit`. `since`: only those made or renewed from this time on. */
export async function readClaims(
  client: ClientBase,
  site: string,
  { after, limit, since }: { readonly after?: string; readonly limit: number; readonly since?: Date },
): Promise<ClaimsCopy> {
  const conditions = [
    `site = ${escapeLiteral(site)}`,
    ...(after === undefined ? [] : [`key > ${escapeLiteral(after)}::uuid`]),
    ...(since === undefined ? [] : [`at >= ${escapeLiteral(since.toISOString())}`]),
  ];
  const lines: Buffer[] = [];
  await copyOut(
    client,
    `COPY (SELECT key, stream, weak, (extract(epoch FROM at) * 1000)::bigint FROM cc.dedup
       WHERE ${conditions.join(' AND ')} ORDER BY key LIMIT ${Number(limit)}) TO STDOUT`,
    (line) => lines.push(Buffer.from(line)),
  );
  const last = lines.at(-1)?.toString('utf8').split('\t')[0];
  return { rows: Buffer.concat(lines), count: lines.length, last };
}

/**
 * Stores a page of `readClaims` in a transaction of the caller; until it ends, appends wait. Of two claims on a key the later one
 * counts. The site must be closed. Returns how many were new or later than those of this log.
 */
export async function storeClaims(client: ClientBase, site: string, rows: Buffer): Promise<number> {
  const claims = parseCopyText(rows, COLUMNS, { bytes: ROW_BYTES_MAX, rows: PAGE_CLAIMS_MAX });
  const keys = new Set(claims.map(([key]) => key));
  if (keys.size < claims.length) throw new SiteCopyRefused('a dedup key occurs twice');
  if (!claims.every(isClaim)) throw new SiteCopyRefused('a dedup claim is invalid');
  if (claims.length === 0) return 0;
  await client.query(
    'CREATE TEMP TABLE arriving_claims (key uuid, stream uuid, weak boolean, at_ms bigint) ON COMMIT DROP',
  );
  const lines = claims.map((claim) => `${claim.join('\t')}\n`).join('');
  await copyIn(client, 'COPY pg_temp.arriving_claims FROM STDIN', [Buffer.from(lines)]);
  const stored = await client.query<{ stored: number | null }>(
    `SELECT cc.store_claims($1) AS stored, set_config('idle_in_transaction_session_timeout', $2, true)`,
    [site, `${IDLE_WITH_LOCK_MS}ms`],
  );
  const [found] = stored.rows as [{ stored: number | null }];
  if (found.stored === null)
    throw new SiteCopyRefused(
      `${site} is not closed here`,
      `Start the move with "sites move ${site}": it closes the site first.`,
    );
  return found.stored;
}

function isClaim([key, stream, weak, at]: (string | null)[]): boolean {
  return (
    isUuid(key ?? '') &&
    isUuid(stream ?? '') &&
    /^[tf]$/.test(weak ?? '') &&
    /^[1-9]\d{0,14}$/.test(at ?? '') &&
    Number(at) <= TIME_MAX_MS
  );
}
