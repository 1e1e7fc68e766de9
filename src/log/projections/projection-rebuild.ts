import { type Client, type ClientBase, DatabaseError } from 'pg';
import { UserError } from '../../kernel/errors.js';
import type { Postgres } from '../../postgres/postgres.js';
import { lockAppends } from '../append/append-lock.js';
import { readHead, readPageEnd } from '../event-reader.js';
import { LogPageSource } from '../page-source.js';
import { withReaderHold } from '../retention/retention-holds.js';
import { type Projection, pageFor } from './projection.js';
import { createStagingTable, mergeStagingTable, promoteStagingTable } from './staging-table.js';

const PAGE_EVENTS = 2_000;
/** Most events that are folded during the swap, while appends (or the runner) wait. */
const SWAP_EVENTS_MAX = 2_000;
const SWAP_ATTEMPTS_MAX = 300;

/** First key of the advisory lock of a rebuild; the second is the hash of the projection's name. */
export const rebuildLock = { classId: 4845003 } as const;
/** The same for erasure: erasures hold it together, a rebuild holds it alone. */
export const erasureLock = { classId: 4845004 } as const;

/**
 * Folds the whole log into new tables in the schema cc_shadow until few events are left, then swaps them with the live tables in
 * one short transaction: under the append's lock for inline projections, under the lock of the projection's row otherwise.
 */
export async function rebuildProjection(
  postgres: Postgres,
  projection: Projection,
  progress: (position: number, head: number) => void = () => {},
): Promise<void> {
  const client = await postgres.connectAsOwner('rebuild');
  const reader = await postgres.connectAsOwner('rebuild');
  try {
    await acquireRebuildLock(client, projection.name);
    await createShadowTables(client, projection);
    await withReaderHold(postgres, `rebuild of the projection ${projection.name}`, 0, async (hold) => {
      let position = 0;
      let head = await readHead(reader);
      while (head - position > SWAP_EVENTS_MAX) {
        position = await foldAhead(client, reader, projection, position, head - SWAP_EVENTS_MAX, (reached) =>
          progress(reached, head),
        );
        head = await readHead(reader);
      }
      if (projection.stagingTable) await promoteStagingTable(client, projection.stagingTable);
      else for (const table of projection.tables) await client.query(`ALTER TABLE cc_shadow.${table} SET LOGGED`);
      await hold.confirm();
      await swap(client, projection, position);
      progress(head, head);
    });
  } finally {
    await client.end();
    await reader.end();
  }
}

async function acquireRebuildLock(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ acquired: boolean }>(
    'SELECT pg_try_advisory_lock($1, hashtext($2)) AS acquired',
    [rebuildLock.classId, name],
  );
  if (!rows[0]?.acquired)
    throw new UserError(`Projection ${name} is already being rebuilt. Wait until that rebuild has finished.`);
  // A rebuild must not read rows before an erasure and swap them in after it.
  await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [erasureLock.classId, name]);
}

async function createShadowTables(client: Client, projection: Projection): Promise<void> {
  await client.query('CREATE SCHEMA IF NOT EXISTS cc_shadow; SET search_path = cc_shadow, cc');
  for (const table of projection.tables) {
    await client.query(`DROP TABLE IF EXISTS cc_shadow.${table}`);
    // Unlogged until complete: after a crash the rebuild starts again, so the rows need no WAL.
    if (projection.stagingTable) await createStagingTable(client, projection.stagingTable, 'UNLOGGED');
    else {
      const { rows } = await client.query<{ options: string | null }>(
        `SELECT array_to_string(reloptions, ', ') AS options FROM pg_class WHERE oid = $1::regclass`,
        [`cc.${table}`],
      );
      // Storage parameters such as the fill factor are not among what LIKE includes.
      const options = rows[0]?.options ? `WITH (${rows[0].options})` : '';
      await client.query(`CREATE UNLOGGED TABLE cc_shadow.${table} (LIKE cc.${table} INCLUDING ALL) ${options}`);
    }
  }
}

async function swap(client: Client, projection: Projection, position: number): Promise<void> {
  // A DROP that waits for one open reader blocks every later session, so time out early and retry.
  await client.query(`SET lock_timeout = '200ms'; SET idle_in_transaction_session_timeout = '5s'`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await inTransaction(client, async () => {
        if (projection.inline) await lockAppends(client);
        else await client.query('SELECT FROM cc.projections WHERE name = $1 FOR UPDATE', [projection.name]);
        const head = await readHead(client);
        if (projection.stagingTable) await createStagingTable(client, projection.stagingTable, 'TEMP');
        // Not beyond this head, even if the log has grown: the position is set to it below.
        for (let at = position; at < head; ) at = await foldPage(client, projection, at, head);
        if (projection.stagingTable) await mergeStagingTable(client, projection.stagingTable);
        for (const table of projection.tables) {
          await client.query(`DROP TABLE cc.${table}`);
          await client.query(`ALTER TABLE cc_shadow.${table} SET SCHEMA cc`);
        }
        await client.query('UPDATE cc.projections SET position = $2, parked = false, reason = NULL WHERE name = $1', [
          projection.name,
          head,
        ]);
      });
      return;
    } catch (error) {
      const isLockTimeout = error instanceof DatabaseError && error.code === '55P03';
      if (!isLockTimeout || attempt === SWAP_ATTEMPTS_MAX) throw error;
    }
  }
}

/** Folds pages until one reaches `least`. Reads the events of a page while the previous page is being written. */
async function foldAhead(
  client: Client,
  reader: Client,
  projection: Projection,
  after: number,
  least: number,
  progress: (position: number) => void,
): Promise<number> {
  let position = after;
  let written: Promise<void> = Promise.resolve();
  try {
    while (position < least) {
      const until = await readPageEnd(reader, position, PAGE_EVENTS);
      const before = written;
      let onRead: () => void = () => {};
      const reading = new Promise<void>((resolve) => {
        onRead = resolve;
      });
      const tx = writesAfter(client, before, onRead);
      const source = new LogPageSource(reader, position, until);
      written = projection.fold(await pageFor(projection, tx, position, until, false, source));
      // Awaited below; without a handler until then it would count as an unhandled rejection.
      written.catch(() => {});
      await Promise.race([reading, written]);
      await before;
      position = until;
      progress(position);
    }
  } finally {
    await written;
  }
  return position;
}

/** A client whose queries wait until the previous page is written. Calls `onFirstQuery` when the fold starts to write. */
function writesAfter(client: Client, before: Promise<void>, onFirstQuery: () => void): ClientBase {
  const query = async (...args: Parameters<Client['query']>) => {
    onFirstQuery();
    await before;
    return client.query(...args);
  };
  // A fold only calls `query`.
  return { query } as unknown as ClientBase;
}

/** Folds the next page of the log and returns its last position. */
export async function foldPage(
  client: Client,
  projection: Projection,
  after: number,
  most = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const until = Math.min(most, await readPageEnd(client, after, PAGE_EVENTS));
  if (until > after) await projection.fold(await pageFor(projection, client, after, until, false));
  return until;
}

export async function inTransaction<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
