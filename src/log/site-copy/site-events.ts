import type { ClientBase, Pool } from 'pg';
import { scanParts } from '../scan-parts.js';

type Queries = Pick<ClientBase | Pool, 'query'>;

/** Events of a site, after a position and up to another one. */
export async function countSiteEvents(client: Queries, site: string, after: number, until?: number): Promise<number> {
  let sum = 0;
  for await (const part of scanParts(client, after, until)) {
    const { rows } = await client.query<{ count: string }>(
      'SELECT count(*) FROM cc.events WHERE site = $1 AND position > $2 AND position <= $3',
      [site, part.after, part.until],
    );
    sum += Number(rows[0]?.count);
  }
  return sum;
}

/** Head of the hash chain at the seal that covers a position, in hex. */
export async function chainHeadAt(client: Queries, position: number): Promise<string> {
  const { rows } = await client.query<{ head: string }>(
    `SELECT encode(head, 'hex') AS head FROM cc.seals WHERE last >= $1 ORDER BY last LIMIT 1`,
    [position],
  );
  if (!rows[0]) throw new Error(`No seal covers position ${position}`);
  return rows[0].head;
}

/** The last move by which a site came into this log; 0 if it never has. */
export async function newestArrival(client: Pick<ClientBase | Pool, 'query'>, site: string): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>(
    `SELECT coalesce(max((data ->> 'epoch')::integer), 0) AS epoch FROM cc.events
      WHERE site = $1 AND category = 'site' AND type = 'site.moved_in.v1'`,
    [site],
  );
  return rows[0]?.epoch ?? 0;
}

/** Streams of a site that begin at a position or after it. */
export async function countOpenings(
  client: Pick<ClientBase | Pool, 'query'>,
  site: string,
  category: string,
  from: number,
): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    'SELECT count(*) FROM cc.events WHERE site = $1 AND category = $2 AND version = 1 AND position >= $3',
    [site, category, from],
  );
  return Number(rows[0]?.count);
}

/** The cells to and from which the site has moved, or was about to. */
export async function readMoveCells(client: Queries, site: string): Promise<string[]> {
  const { rows } = await client.query<{ cell: string }>(
    `SELECT DISTINCT coalesce(data ->> 'to', data ->> 'from') AS cell FROM cc.events
      WHERE site = $1 AND category = 'site' AND type IN ('site.move_started.v1', 'site.moved_out.v1', 'site.moved_in.v1')`,
    [site],
  );
  return rows.map(({ cell }) => cell);
}
