import { type ClientBase, escapeLiteral } from 'pg';
import { isExpiry } from '../../events/visitor.events.js';
import { SEALED_COLUMNS } from '../audit/sealed-row.js';
import { copyOut } from '../copy.js';
import { EventRow } from '../event-row.js';
import { readScanEnd, scanParts } from '../scan-parts.js';

/** Larger pages would hold the append lock of the other log for longer. */
const PAGE_BYTES = 2 * 1024 * 1024;
const ERASED = 'visitor.erased.v1';

export interface SitePage {
  /** Rows in the text format of COPY. */
  readonly rows: Buffer;
  /** Everything of the site up to this position is in this page or in earlier ones. */
  readonly last: number;
  /** The page ends with the erasure of a person. */
  readonly endsWithErasure: boolean;
}

/**
 * The next events of a site after a position and up to another one, at most `limit`, with their personal parts and what the hash chain
 * needs of those that were erased. Fewer are returned if they are large, and up to the erasure of a person: what was copied about
 * that person can then be erased before later events follow, which the erasure does not concern.
 */
export async function readSitePage(
  client: ClientBase,
  site: string,
  { after, until: end, limit }: { readonly after: number; readonly until: number; readonly limit: number },
): Promise<SitePage> {
  const lines: Buffer[] = [];
  let bytes = 0;
  let last = after;
  let endsWithErasure = false;
  const row = new EventRow();
  for (let isFull = false; !isFull; ) {
    const { until, isEnd } = await readScanEnd(client, last, end);
    const within = (table: string) => `${table}.position > ${last} AND ${table}.position <= ${until}`;
    await copyOut(
      client,
      `COPY (SELECT ${SEALED_COLUMNS} FROM (
          SELECT * FROM cc.events e WHERE ${within('e')} AND e.site = ${escapeLiteral(site)}
           ORDER BY e.position LIMIT ${limit - lines.length}) e
        LEFT JOIN cc.personal p ON p.position = e.position AND ${within('p')}
        LEFT JOIN cc.erased_parts x ON x.position = e.position AND ${within('x')} ORDER BY e.position) TO STDOUT`,
      (line) => {
        isFull ||= bytes >= PAGE_BYTES;
        if (isFull) return;
        // The buffer belongs to the connection.
        lines.push(Buffer.from(line));
        bytes += line.length;
        last = row.at(line).position;
        endsWithErasure = isErasure(row);
        isFull = endsWithErasure;
      },
    );
    isFull ||= lines.length >= limit;
    if (isFull) break;
    last = until;
    isFull = isEnd;
  }
  return { rows: Buffer.concat(lines), last, endsWithErasure };
}

/** Whether a person was erased. Other parts end by their age, many at once. */
function isErasure(row: EventRow): boolean {
  return row.type === ERASED && !isExpiry(row.data() as Parameters<typeof isExpiry>[0]);
}

/** An event by what is the same in every cell. */
export interface EventName {
  readonly stream: string;
  readonly version: number;
  readonly id: string;
}

/** Events up to `reached` whose personal parts were erased by what was stored after a position, up to another one. */
export async function readErased(
  client: ClientBase,
  site: string,
  { after, until, reached }: { readonly after: number; readonly until: number; readonly reached: number },
): Promise<EventName[]> {
  const { rows } = await client.query<EventName>(
    `SELECT e.stream, e.version, e.id FROM cc.erased_parts x JOIN cc.events e USING (position)
      WHERE x.since > $2 AND x.since <= $3 AND x.position <= $4 AND e.site = $1 ORDER BY x.position`,
    [site, after, until, reached],
  );
  return rows;
}

export interface SiteSize {
  readonly events: number;
  /** As stored, without indexes. */
  readonly bytes: number;
}

/** What a move of the site has to copy. Reads the whole log, a part at a time. */
export async function countSite(client: ClientBase, site: string): Promise<SiteSize> {
  let events = 0;
  let bytes = 0;
  for await (const { after, until } of scanParts(client, 0)) {
    const { rows } = await client.query<SiteSize>(
      `SELECT count(*)::float8 AS events, coalesce(sum(pg_column_size(e) + coalesce(pg_column_size(p), 0)), 0)::float8 AS bytes
         FROM cc.events e LEFT JOIN cc.personal p ON p.position = e.position AND p.position > $2 AND p.position <= $3
        WHERE e.site = $1 AND e.position > $2 AND e.position <= $3`,
      [site, after, until],
    );
    events += rows[0]?.events ?? 0;
    bytes += rows[0]?.bytes ?? 0;
  }
  return { events, bytes };
}
