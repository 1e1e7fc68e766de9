import type { ClientBase, Pool } from 'pg';
import { SITE, streamIdOf } from '../events/site.events.js';

type Queries = Pick<ClientBase | Pool, 'query'>;

/** The first event of a site whose host another one had before: from there on, events of the host are of this site. */
const BEGINS = `e.category = '${SITE}' AND e.type = 'site.registered.v1' AND e.data ->> 'id' IS NOT NULL`;

/** The positions at which such sites begin in a position range. */
export async function readBeginnings(
  client: Queries,
  after: number,
  until: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ site: string; position: number }>({
    name: 'read-beginnings',
    text: `SELECT e.site, max(e.position)::float8 AS position FROM cc.events e
            WHERE e.position > $1 AND e.position <= $2 AND ${BEGINS} GROUP BY e.site`,
    values: [after, until],
  });
  return new Map(rows.map(({ site, position }) => [site, position]));
}

/** Where the site begins that has a host now; 0 if no other one had it before. */
export async function readBeginning(client: Queries, site: string): Promise<number> {
  const { rows } = await client.query<{ position: number }>(
    `SELECT coalesce(max(e.position), 0)::float8 AS position FROM cc.events e WHERE e.stream = $1 AND ${BEGINS}`,
    [streamIdOf(site)],
  );
  return (rows[0] as { position: number }).position;
}
