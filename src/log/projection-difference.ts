import type { Postgres } from '../postgres/postgres.js';
import { readHead } from './event-reader.js';
import { foldBeside } from './fold-beside.js';
import type { Projection } from './projection.js';
import { inTransaction } from './projection-rebuild.js';

export interface ProjectionDifference {
  /** As of which both were compared. */
  readonly position: number;
  readonly rows: number;
  /** Rows that the log makes and the table has not. */
  readonly missing: number;
  /** Rows that the table has and the log does not make. */
  readonly surplus: number;
}

/** Copies the live rows with their checkpoint in one look, folds the log up to there beside them, and compares. */
export async function compareProjection(
  postgres: Postgres,
  projection: Projection,
  forgottenBefore: Date,
  progress: () => void = () => {},
): Promise<ProjectionDifference> {
  const client = await postgres.connectAsOwner('compare');
  try {
    const until = await inTransaction(client, async () => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      const { rows } = await client.query<{ position: string }>('SELECT position FROM cc.projections WHERE name = $1', [
        projection.name,
      ]);
      for (const table of projection.tables)
        await client.query(`CREATE TEMP TABLE live_${table} AS SELECT * FROM cc.${table}`);
      const head = await readHead(client);
      return projection.inline ? head : Math.min(head, Number(rows[0]?.position ?? 0));
    });
    await foldBeside(client, projection, until, progress);
    let difference: ProjectionDifference = { position: until, rows: 0, missing: 0, surplus: 0 };
    for (const table of projection.tables) {
      const { rows } = await client.query<{ rows: number; missing: number; surplus: number }>(
        compareTables(table, projection.forgetsBy),
        projection.forgetsBy === undefined ? [] : [forgottenBefore],
      );
      const [found] = rows as [{ rows: number; missing: number; surplus: number }];
      difference = {
        ...difference,
        rows: difference.rows + found.rows,
        missing: difference.missing + found.missing,
        surplus: difference.surplus + found.surplus,
      };
    }
    return difference;
  } finally {
    await client.end();
  }
}

/** As text, because JSON columns cannot be compared; with repeats, because a table may lack its key. */
function compareTables(table: string, forgetsBy: string | undefined): string {
  const expected = forgetsBy === undefined ? '' : `WHERE ${forgetsBy} >= $1`;
  return `SELECT (SELECT count(*)::int FROM live_${table}) AS rows,
    (SELECT count(*)::int FROM (
       SELECT t::text FROM pg_temp.${table} t ${expected} EXCEPT ALL SELECT l::text FROM live_${table} l) m) AS missing,
    (SELECT count(*)::int FROM (
       SELECT l::text FROM live_${table} l EXCEPT ALL SELECT t::text FROM pg_temp.${table} t) s) AS surplus`;
}
