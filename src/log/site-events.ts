import type { ClientBase, Pool } from 'pg';

/** Events of a site, after a position and up to another one. */
export async function countSiteEvents(
  client: Pick<ClientBase | Pool, 'query'>,
  site: string,
  after: number,
  until = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    'SELECT count(*) FROM cc.events WHERE site = $1 AND position > $2 AND position <= $3',
    [site, after, until],
  );
  return Number(rows[0]?.count);
}
