import { readOldestOpenings } from '../log/event-reader.js';
import type { ProjectionRunner } from '../log/projection-runner.js';
import type { HoldSource } from '../log/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import { deliveriesProjection } from './deliveries.projection.js';
import { SCAN_LEASE } from './owed.js';

/**
 * An unsettled delivery needs its conversion from the first event on: each attempt builds its payload from it. Up to where the
 * scan for owed deliveries has got, every delivery has an outcome; those that wait for another attempt are in the projection.
 * It is caught up after the scan's progress was read: its rows as of an older position lack outcomes that the scan has passed.
 * Deliveries of a site that has left are in the log that it has moved to.
 */
export function deliveryHolds(postgres: Postgres, projections: Pick<ProjectionRunner, 'catchUp'>): HoldSource {
  return async (until) => {
    const { rows } = await postgres.pool.query<{ reached: string }>('SELECT reached FROM cc.leases WHERE name = $1', [
      SCAN_LEASE,
    ]);
    const scan = {
      holder: 'the scan for owed deliveries',
      position: Number(rows[0]?.reached ?? 0),
      fix: 'A running service continues it: check that one runs and that its log reports no error.',
    };
    await projections.catchUp(deliveriesProjection.name);
    const groups = await readOldestOpenings(
      postgres.pool,
      `SELECT d.platform || ' of ' || d.site AS name, d.conversion AS stream FROM cc.deliveries d
        WHERE NOT EXISTS (SELECT FROM cc.sites s WHERE s.host = d.site AND s.move ->> 'state' = 'left')`,
      until,
    );
    const waiting = groups.map(({ name, streams, position }) => ({
      holder: `${streams} unsettled ${streams === 1 ? 'delivery' : 'deliveries'} to ${name}`,
      position: position - 1,
      fix: 'They are sent, or given up, by their retry schedule; the check "deliveries" shows which connections wait for an operator.',
    }));
    return [scan, ...waiting];
  };
}
