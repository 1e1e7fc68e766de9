import type { ClientBase } from 'pg';
import { type Projection, pageFor } from './projection.js';
import { createStagingTable, mergeStagingTable } from './staging-table.js';

/** Folds events that the caller's transaction has appended into the tables that appends write themselves. */
export async function foldInline(
  client: ClientBase,
  projections: readonly Projection[],
  after: number,
  until: number,
): Promise<void> {
  for (const projection of projections) {
    const { stagingTable } = projection;
    if (stagingTable) await createStagingTable(client, stagingTable, 'TEMP');
    await projection.fold(await pageFor(projection, client, after, until, true));
    if (stagingTable) await mergeStagingTable(client, stagingTable);
  }
}
