import type { Client } from 'pg';
import type { Postgres } from '../../postgres/postgres.js';
import { withConnection } from '../../postgres/with-connection.js';
import { readHead, readPageEnd } from '../event-reader.js';
import { PartitionPositions } from '../retention/partition-positions.js';
import { foldIntoTempTables } from './fold-into-temp-tables.js';
import { type Projection, pageAhead } from './projection.js';
import { inTransaction } from './projection-rebuild.js';

const PAGE_EVENTS = 5_000;

export interface ProjectionDifference {
  /** Position as of which both were compared. */
  readonly position: number;
  readonly rows: number;
  /** Rows that the log implies and the table lacks. */
  readonly missing: number;
  /** Rows of the table that the log does not imply. */
  readonly surplus: number;
}

/**
 * Copies the live rows, folds the log up to their position into temporary tables, and compares. All of it in one snapshot: an
 * erasure meanwhile is neither in the rows nor in the events.
 */
export async function compareProjection(
  postgres: Postgres,
  projection: Projection,
  prunedBefore: Date,
  progress: () => void = () => {},
): Promise<ProjectionDifference> {
  return withConnection(postgres.connectAsOwner('compare'), async (client) => {
    const until = await inTransaction(client, async () => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      const { rows } = await client.query<{ position: string }>('SELECT position FROM cc.projections WHERE name = $1', [
        projection.name,
      ]);
      for (const table of projection.tables)
        await client.query(`CREATE TEMP TABLE live_${table} AS SELECT * FROM cc.${table}`);
      const head = await readHead(client);
      const last = projection.inline ? head : Math.min(head, Number(rows[0]?.position ?? 0));
      await foldIntoTempTables(client, projection, last, progress);
      // Kafka consumers write the rows of their partitions before the position of the projection moves.
      if (projection.source === 'any') await foldAhead(client, projection, last, progress);
      return last;
    });
    let difference: ProjectionDifference = { position: until, rows: 0, missing: 0, surplus: 0 };
    for (const table of projection.tables) {
      const prunedBy = projection.prunedBy?.[table];
      const { rows } = await client.query<{ rows: number; missing: number; surplus: number }>(
        compareTables(table, prunedBy),
        prunedBy === undefined ? [] : [prunedBefore],
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
  });
}

async function foldAhead(client: Client, projection: Projection, after: number, progress: () => void): Promise<void> {
  const folded = await PartitionPositions.read(client, projection.name);
  const end = Math.min(folded.furthest, await readHead(client));
  for (let position = after; position < end; progress()) {
    const until = Math.min(end, await readPageEnd(client, position, PAGE_EVENTS));
    await projection.fold(pageAhead(folded, client, position, until));
    position = until;
  }
}

/** Compares as text, because JSON has no equality operator; with EXCEPT ALL, because a table may lack its primary key. */
function compareTables(table: string, prunedBy: string | undefined): string {
  const expected = prunedBy === undefined ? '' : `WHERE ${prunedBy} >= $1`;
  return `SELECT (SELECT count(*)::int FROM live_${table}) AS rows,
    (SELECT count(*)::int FROM (
       SELECT t::text FROM pg_temp.${table} t ${expected} EXCEPT ALL SELECT l::text FROM live_${table} l) m) AS missing,
    (SELECT count(*)::int FROM (
       SELECT l::text FROM live_${table} l EXCEPT ALL SELECT t::text FROM pg_temp.${table} t) s) AS surplus`;
}
