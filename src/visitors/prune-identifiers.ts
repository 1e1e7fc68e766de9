import type { Postgres } from '../postgres/postgres.js';

const BATCH_ROWS = 1_000;

/** Deletes rows that were made of personal parts from before. */
export async function pruneIdentifiers(postgres: Postgres, before: Date): Promise<number> {
  let total = 0;
  for (const { table, time } of [
    { table: 'identifiers', time: 'at' },
    { table: 'unmatched', time: 'time' },
    { table: 'attributions', time: 'quarter' },
    { table: 'attribution_limits', time: 'quarter' },
    { table: 'identifier_statistics', time: 'quarter' },
  ]) {
    for (let pruned = BATCH_ROWS; pruned === BATCH_ROWS; total += pruned) {
      const { rowCount } = await postgres.pool.query(
        `DELETE FROM cc.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM cc.${table} WHERE ${time} < $1 LIMIT ${BATCH_ROWS}))`,
        [before],
      );
      pruned = rowCount ?? 0;
    }
  }
  return total;
}
