import { type Client, type ClientBase, DatabaseError } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { Postgres } from '../postgres/postgres.js';
import { readHead, readPageEnd } from './event-reader.js';
import { type Projection, pageFor } from './projection.js';
import { createStagingTable, mergeStagingTable, promoteStagingTable } from './staging-table.js';

const PAGE_EVENTS = 2_000;
/** What may be left to fold while appends (or the runner) wait for the swap. */
const LEFT_FOR_THE_SWAP = 2_000;
const SWAP_TRIES_MAX = 300;

/** The append's lock: whoever holds it knows that nobody appends. */
export const APPEND_LOCK = 4845001;
/** First half of the advisory keys under which projections are being rebuilt; the second is the hash of their names. */
export const rebuildLock = { classId: 4845003 } as const;
/** The same of those that a person is being erased from: erasures share it, a rebuild has it alone. */
export const erasureLock = { classId: 4845004 } as const;

/**
 * Folds the whole log into shadow tables beside the live ones, pass by pass until little is left, then swaps them in one
 * short transaction: behind the append's lock where the append writes the rows, behind the checkpoint's row otherwise.
 */
export async function rebuildProjection(
  postgres: Postgres,
  projection: Projection,
  progress: (position: number, head: number) => void = () => {},
): Promise<void> {
  const client = await postgres.connectAsOwner('rebuild');
  const reader = await postgres.connectAsOwner('rebuild');
  try {
    await takeRebuildLock(client, projection.name);
    await makeShadow(client, projection);
    let position = 0;
    let head = await readHead(reader);
    while (head - position > LEFT_FOR_THE_SWAP) {
      position = await foldAhead(client, reader, projection, position, head - LEFT_FOR_THE_SWAP, (reached) =>
        progress(reached, head),
      );
      head = await readHead(reader);
    }
    if (projection.stagingTable) await promoteStagingTable(client, projection.stagingTable);
    else for (const table of projection.tables) await client.query(`ALTER TABLE cc_shadow.${table} SET LOGGED`);
    await swap(client, projection, position);
    progress(head, head);
  } finally {
    await client.end();
    await reader.end();
  }
}

async function takeRebuildLock(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1, hashtext($2)) AS mine', [
    rebuildLock.classId,
    name,
  ]);
  if (!rows[0]?.mine) throw new UserError(`Projection ${name} is being rebuilt already. Wait for it to end.`);
  // One that is being erased from must not have been read before and be put in place after.
  await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [erasureLock.classId, name]);
}

async function makeShadow(client: Client, projection: Projection): Promise<void> {
  await client.query('CREATE SCHEMA IF NOT EXISTS cc_shadow; SET search_path = cc_shadow, cc');
  for (const table of projection.tables) {
    await client.query(`DROP TABLE IF EXISTS cc_shadow.${table}`);
    // Nobody needs it after a crash: it costs no write-ahead log until it is whole.
    if (projection.stagingTable) await createStagingTable(client, projection.stagingTable, 'UNLOGGED');
    else await client.query(`CREATE UNLOGGED TABLE cc_shadow.${table} (LIKE cc.${table} INCLUDING ALL)`);
  }
}

async function swap(client: Client, projection: Projection, position: number): Promise<void> {
  // Behind one open reader a DROP would wait, and everybody behind it: better to step back and try again.
  await client.query(`SET lock_timeout = '200ms'; SET idle_in_transaction_session_timeout = '5s'`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await inTransaction(client, async () => {
        if (projection.inline) await client.query('SELECT pg_advisory_xact_lock($1)', [APPEND_LOCK]);
        else await client.query('SELECT FROM cc.projections WHERE name = $1 FOR UPDATE', [projection.name]);
        const head = await readHead(client);
        if (projection.stagingTable) await createStagingTable(client, projection.stagingTable, 'TEMP');
        // Not beyond that head, where the log may have gone meanwhile: the next one to fold begins there.
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
      if (!isLockTimeout || attempt === SWAP_TRIES_MAX) throw error;
    }
  }
}

/** Folds page after page until one reaches `least`. The events of a page are read while the one before it is written. */
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
      let hasRead: () => void = () => {};
      const reading = new Promise<void>((resolve) => {
        hasRead = resolve;
      });
      const tx = afterwards(client, before, hasRead);
      written = projection.fold(await pageFor(projection, tx, position, until, false, reader));
      // Heard below; until then it must not be taken for one that nobody hears.
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

/** A connection that lets nobody write before an earlier page is written, and says when somebody wants to. */
function afterwards(client: Client, before: Promise<void>, wanted: () => void): ClientBase {
  const query = async (...question: Parameters<Client['query']>) => {
    wanted();
    await before;
    return client.query(...question);
  };
  return { query } as unknown as ClientBase;
}

/** Folds the next page of the log; returns where it ends. */
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
