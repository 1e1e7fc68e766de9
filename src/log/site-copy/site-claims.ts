import { type ClientBase, escapeLiteral, type Pool } from 'pg';
import { isUuid } from '../../kernel/uuid.js';
import { IDLE_WITH_LOCK_MS, lockAppends } from '../append/append-lock.js';
import { copyIn, copyOut } from '../copy.js';
import { parseCopyText } from '../copy-text.js';
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
    ...(since === undefined ? [] : [sinceTime(escapeLiteral(since.toISOString()))]),
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

/** After the clock was set back from this time or a later one, the time of a claim does not tell whether it is new: then all are. */
function sinceTime(time: string): string {
  return `(at >= ${time} OR EXISTS (SELECT FROM cc.clock_steps WHERE before_time >= ${time}))`;
}

/**
 * The time of the log: later claims have this one or a later one, unless `cc.clock_steps` says that the clock was set back. The clock
 * itself may be ahead for a while in which nothing is stored.
 */
export async function readNewestTimeMs(client: Pick<ClientBase | Pool, 'query'>): Promise<number> {
  const { rows } = await client.query<{ ms: string }>(
    'SELECT (extract(epoch FROM time) * 1000)::bigint AS ms FROM cc.seals ORDER BY last DESC LIMIT 1',
  );
  // A log from before the seals: all claims are sent again.
  return Number(rows[0]?.ms ?? 0);
}

/**
 * Stores a page of `readClaims` in a transaction of the caller; until it ends, appends wait. Of two claims on a key the later one
 * counts, and one from the future is as of now. The site must be closed. Returns how many were new or later than those of this log.
 */
export async function storeClaims(client: ClientBase, site: string, rows: Buffer): Promise<number> {
  const claims = parseCopyText(rows, COLUMNS, { bytes: ROW_BYTES_MAX, rows: PAGE_CLAIMS_MAX });
  const keys = new Set(claims.map(([key]) => key?.toLowerCase()));
  if (keys.size < claims.length) throw new SiteCopyRefused('a dedup key occurs twice');
  if (!claims.every(isClaim)) throw new SiteCopyRefused('a dedup claim is invalid');
  if (claims.length === 0) return 0;
  await client.query(
    'CREATE TEMP TABLE arriving_claims (key uuid, stream uuid, weak boolean, at_ms bigint) ON COMMIT DROP',
  );
  const lines = claims.map((claim) => `${claim.join('\t')}\n`).join('');
  await copyIn(client, 'COPY pg_temp.arriving_claims FROM STDIN', [Buffer.from(lines)]);
  // One from the future would refuse conversions until then.
  await client.query(
    `UPDATE pg_temp.arriving_claims SET at_ms = now.ms
       FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) now WHERE at_ms > now.ms`,
  );
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

/** Deletes the claims of these streams, in a transaction of the caller; appends wait for its end if there are any. Returns their number. */
export async function deleteClaims(client: ClientBase, site: string, streams: readonly string[]): Promise<number> {
  if (streams.length === 0) return 0;
  // No index has the stream of a claim, so they are searched for before appends wait.
  const { rows } = await client.query<{ key: string }>(
    'SELECT key FROM cc.dedup WHERE site = $1 AND stream = ANY ($2)',
    [site, streams],
  );
  if (rows.length === 0) return 0;
  await lockAppends(client);
  const { rowCount } = await client.query(
    'DELETE FROM cc.dedup WHERE site = $1 AND key = ANY ($2) AND stream = ANY ($3)',
    [site, rows.map(({ key }) => key), streams],
  );
  return rowCount ?? 0;
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
