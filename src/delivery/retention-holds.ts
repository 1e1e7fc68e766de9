import { readOldestOpenings } from '../log/event-reader.js';
import type { ProjectionRunner } from '../log/projection-runner.js';
import type { HoldSource } from '../log/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import { deliveriesProjection } from './deliveries.projection.js';

/**
 * An unsettled delivery needs its conversion from the first event on: each attempt builds its payload from it. The projection
 * is caught up first, because its rows as of an older position lack deliveries that were scheduled since.
 */
export function deliveryHolds(postgres: Postgres, projections: Pick<ProjectionRunner, 'catchUp'>): HoldSource {
  return async (until) => {
    await projections.catchUp(deliveriesProjection.name);
    const groups = await readOldestOpenings(
      postgres.pool,
      `SELECT platform || ' of ' || site AS name, conversion AS stream FROM cc.deliveries`,
      until,
    );
    return groups.map(({ name, streams, position }) => ({
      holder: `${streams} unsettled ${streams === 1 ? 'delivery' : 'deliveries'} to ${name}`,
      position: position - 1,
      fix: 'They are sent, or given up, by their retry schedule; the check "deliveries" shows which connections wait for an operator.',
    }));
  };
}
