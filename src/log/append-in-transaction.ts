import type { ClientBase } from 'pg';
import { LogUnavailable } from '../kernel/errors.js';
import type { DatabaseClock } from '../postgres/database-clock.js';
import { toBatch } from './append-queue.js';
import type { AppendRequest } from './event.js';

/** How far the database's clock may be from its estimate: a larger difference means that it jumped. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * Appends events in a transaction of the caller, which commits them together with its own changes or not at all. Holds the
 * append lock until the transaction ends. The connection must have followed the lineage of the database.
 */
export async function appendInTransaction(
  client: ClientBase,
  clock: DatabaseClock,
  request: AppendRequest & { readonly expected: 'new' | 'any' },
): Promise<void> {
  const refusal = clock.refusal();
  if (refusal) throw new LogUnavailable(refusal);
  const nowMs = clock.nowMs();
  const bounds = [nowMs - CLOCK_TOLERANCE_MS, nowMs + CLOCK_TOLERANCE_MS].map((ms) => new Date(ms).toISOString());
  const { rows } = await client.query<{ outcome: { outside?: number } }>(
    'SELECT cc.append($1, $2, false, null, $3, $4) AS outcome',
    [toBatch(request), request.expected === 'any', ...bounds],
  );
  if (rows[0]?.outcome.outside !== undefined) throw new LogUnavailable("the database's clock jumped");
}
