import type { Queryable } from './event-reader.js';
import type { Projection } from './projection.js';
import type { HoldSource } from './retention-holds.js';

/**
 * Every projection needs the events after its checkpoint, also while it is parked. Inline projections have none: the append
 * writes them. The checkpoint of a projection that Kafka feeds moves when all its partition checkpoints have passed it.
 */
export function projectionHolds(source: Queryable, projections: readonly Projection[]): HoldSource {
  const inline = new Set(projections.filter((projection) => projection.inline).map(({ name }) => name));
  return async () => {
    const { rows } = await source.query<{ name: string; position: string; parked: boolean; reason: string | null }>(
      `SELECT name, coalesce(p.position, 0) AS position, coalesce(p.parked, false) AS parked, p.reason
         FROM cc.projections p FULL JOIN unnest($1::text[]) AS known (name) USING (name)`,
      [projections.map(({ name }) => name)],
    );
    const known = new Set(projections.map(({ name }) => name));
    return rows
      .filter(({ name }) => !inline.has(name))
      .map(({ name, position, parked, reason }) => ({
        holder: `projection ${name}${parked ? ' (parked)' : ''}`,
        position: Number(position),
        fix: fixOf(name, known.has(name), parked ? reason : null),
      }));
  };
}

function fixOf(name: string, isKnown: boolean, reason: string | null): string {
  if (!isKnown) {
    return `This version has no such projection. If no other version runs: DELETE FROM cc.projections WHERE name = '${name}'.`;
  }
  if (reason === null) return 'A running service catches it up; "projections status" shows its progress.';
  return `It is parked at ${reason}. Update to a version that supports this event, then run "projections rebuild ${name}".`;
}
