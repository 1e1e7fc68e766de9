import type { ClientBase, PoolClient } from 'pg';
import { BEGUN_WHILE_PAUSED } from '../../events/begun-while-paused.js';
import { CommitUnknown, LogUnavailable, SitePaused } from '../../kernel/errors.js';
import { uuidv7 } from '../../kernel/uuid.js';
import type { DatabaseClock } from '../../postgres/database-clock.js';
import type { Postgres } from '../../postgres/postgres.js';
import { transaction } from '../../postgres/transaction.js';
import type { AppendOutcome, AppendRequest } from '../event.js';
import { followLineage } from '../lineage.js';
import { toBatch } from './append-batch.js';
import { classifyAppendError } from './append-error.js';
import { APPEND_LOCK, IDLE_WITH_LOCK_MS } from './append-lock.js';
import type { BatchOutcome } from './append-queue.js';

/** How far the database's clock may be from its estimate: a larger difference means that it jumped. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Longer than a transaction whose client is gone can hold the lock. */
const LOOK_UP_MS = 5_000;

type Request = AppendRequest & { readonly expected: 'new' | 'any' | number };

/** Writes in the transaction of an append. It may append events of other streams, after all that waits for locks of others. */
export type ChangeWithEvents = (
  client: ClientBase,
  append: (request: Request) => Promise<AppendOutcome>,
) => Promise<void>;

/** The stream has another version than the request was decided on. */
export class VersionConflict extends Error {
  override readonly name = 'VersionConflict';
}

/**
 * Stores the events together with what `change` writes, or neither if the stream has another version or there is an error. If the
 * connection is lost during the commit, the log is asked whether it has them; only if it cannot answer, that stays unknown.
 */
export async function appendWith(
  postgres: Pick<Postgres, 'pool' | 'clock'>,
  request: Request,
  change: ChangeWithEvents,
): Promise<AppendOutcome> {
  try {
    return await appendingTransaction(postgres, async (client, append) => {
      await change(client, append);
      return append(request);
    });
  } catch (error) {
    if (error instanceof VersionConflict || classifyAppendError(error) === 'conflict') return { status: 'conflict' };
    throw error;
  }
}

/**
 * A transaction in which events can be appended. They come last: from then on until the commit, other appends wait. If the
 * connection is lost during the commit, the log is asked whether it has the last of them, and with it everything else.
 */
export async function appendingTransaction<Result>(
  postgres: Pick<Postgres, 'pool' | 'clock'>,
  work: (client: PoolClient, append: (request: Request) => Promise<AppendOutcome>) => Promise<Result>,
): Promise<Result> {
  let appended: { readonly stream: string; readonly id: string } | undefined;
  let committing: { readonly result: Result } | undefined;
  try {
    return await transaction(
      postgres.pool,
      async (client) => {
        const result = await work(client, (request) => {
          const ids = request.events.map(uuidv7);
          appended = { stream: request.stream, id: ids.at(-1) as string };
          return appendInTransaction(client, postgres.clock, request, ids);
        });
        committing = { result };
        return result;
      },
      (client) => followLineage(client, () => {}),
    );
  } catch (error) {
    if (committing && appended && (await isStored(postgres, appended, error))) return committing.result;
    throw error;
  }
}

/** Whether the log has an event whose commit had no answer. Its transaction holds the append lock until it ends, so this is final. */
async function isStored(
  { pool }: Pick<Postgres, 'pool'>,
  { stream, id }: { readonly stream: string; readonly id: string },
  lost: unknown,
): Promise<boolean> {
  let client: PoolClient | undefined;
  try {
    client = await pool.connect();
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOOK_UP_MS}; SELECT pg_advisory_xact_lock(${APPEND_LOCK})`);
    // The message makes the commit wait for a synchronous standby: after a crash the events may be on the primary only.
    await client.query(`SELECT pg_logical_emit_message(true, 'cc', '')`);
    const { rowCount } = await client.query('SELECT FROM cc.events WHERE stream = $1 AND id = $2', [stream, id]);
    await client.query('COMMIT');
    client.release();
    return rowCount === 1;
  } catch {
    client?.release(true);
    throw new CommitUnknown(lost);
  }
}

/**
 * Appends events in a transaction of the caller, which commits them together with its own changes or not at all. Holds the
 * append lock until the transaction ends. The connection must have followed the lineage of the database.
 */
export async function appendInTransaction(
  client: ClientBase,
  clock: DatabaseClock,
  request: Request,
  ids?: readonly string[],
): Promise<Extract<AppendOutcome, { status: 'appended' }>> {
  const outcome = await appendBatch(client, clock, toBatch(request, ids), request.expected !== 'new');
  if (outcome.conflicts) throw new VersionConflict('The stream has another version');
  if (outcome.paused) throw new SitePaused(request.site);
  const position = (outcome.first as number) + request.events.length - 1;
  return { status: 'appended', position, time: new Date(outcome.time).toISOString() };
}

/** The same for events as `cc.append` expects them. `checked`: their versions must be compared. */
export async function appendBatch(
  client: ClientBase,
  clock: DatabaseClock,
  batch: string,
  checked: boolean,
): Promise<BatchOutcome> {
  const refusal = clock.refusal();
  if (refusal) throw new LogUnavailable(refusal);
  const nowMs = clock.nowMs();
  const bounds = [nowMs - CLOCK_TOLERANCE_MS, nowMs + CLOCK_TOLERANCE_MS].map((ms) => new Date(ms).toISOString());
  const { rows } = await client.query<{ outcome: BatchOutcome | { outside: number } }>(
    `SELECT cc.append($1, $2, false, null, $3, $4, null, $5) AS outcome,
            set_config('idle_in_transaction_session_timeout', $6, true)`,
    [batch, checked, ...bounds, BEGUN_WHILE_PAUSED, `${IDLE_WITH_LOCK_MS}ms`],
  );
  const { outcome } = rows[0] as (typeof rows)[0];
  if ('outside' in outcome) throw new LogUnavailable("the database's clock jumped");
  return outcome;
}
