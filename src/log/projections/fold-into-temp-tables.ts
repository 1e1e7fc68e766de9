import type { Client } from 'pg';
import type { Projection } from './projection.js';
import { foldPage } from './projection-rebuild.js';
import { createStagingTable, mergeStagingTable } from './staging-table.js';

/**
 * Folds the log up to a position into temporary tables. They precede the live tables in the search path of the connection and
 * are dropped with it: no other session sees them, and the live tables stay unchanged. The caller has begun a transaction.
 */
export async function foldIntoTempTables(
  client: Client,
  projection: Projection,
  until: number,
  progress: (position: number) => void,
): Promise<void> {
  await client.query('SET search_path = pg_temp, cc');
  for (const table of projection.tables)
    await client.query(`CREATE TEMP TABLE ${table} (LIKE cc.${table} INCLUDING ALL)`);
  if (projection.stagingTable) await createStagingTable(client, projection.stagingTable, 'TEMP');
  for (let position = 0; position < until; progress(position))
    position = await foldPage(client, projection, position, until);
  if (projection.stagingTable) await mergeStagingTable(client, projection.stagingTable);
}
