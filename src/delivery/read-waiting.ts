import type { ClientBase } from 'pg';
import type { Site } from '../sites/site.js';

/** The queue of a connection may have millions of deliveries. */
export const WAITING_COUNTED_MAX = 10_000;

export interface WaitingDeliveries {
  readonly site: string;
  /** Name of the connection. */
  readonly platform: string;
  /** Up to a limit. */
  readonly count: number;
  /** When the first of them is due. */
  readonly due: Date;
}

/** What waits for an attempt (`send`), or for the report of the platform whether it counts (`confirm`). */
export async function readWaiting(
  client: ClientBase,
  sites: readonly Pick<Site, 'host' | 'connections'>[],
  kind: 'send' | 'confirm',
): Promise<WaitingDeliveries[]> {
  const connections = sites.flatMap(({ host, connections }) =>
    connections.filter(({ disconnected }) => !disconnected).map(({ platform }) => [host, platform] as const),
  );
  const { rows } = await client.query<WaitingDeliveries>(
    `SELECT c.site, c.platform, w.count, w.due FROM unnest($1::text[], $2::text[]) AS c (site, platform)
      CROSS JOIN LATERAL (
        SELECT count(*)::float8 AS count, min(due) AS due
          FROM (SELECT due FROM cc.deliveries d WHERE d.site = c.site AND d.platform = c.platform AND d.kind = $3
                 ORDER BY due LIMIT ${WAITING_COUNTED_MAX}) first) w
      WHERE w.count > 0`,
    [connections.map(([site]) => site), connections.map(([, platform]) => platform), kind],
  );
  return rows;
}
