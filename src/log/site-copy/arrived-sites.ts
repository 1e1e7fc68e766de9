import type { ClientBase, Pool } from 'pg';

type Queries = Pick<ClientBase | Pool, 'query'>;

/** Sites whose events came from another log, or come: they keep the times and the versions that they have there. */
export async function readArrivedSites(client: Queries): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ site: string }>(
    `SELECT site FROM cc.events WHERE category = 'site' AND type = 'site.moved_in.v1'
      UNION SELECT site FROM cc.site_moves WHERE direction = 'in'`,
  );
  return new Set(rows.map(({ site }) => site));
}
