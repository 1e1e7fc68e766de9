import type { PoolClient } from 'pg';
import { NO_SITE } from '../events/log.events.js';
import { USER, type UserEvent } from '../events/user.events.js';
import type { Actor } from '../kernel/command.js';
import { appendInTransaction } from '../log/append-in-transaction.js';
import { followLineage } from '../log/lineage.js';
import type { Postgres } from '../postgres/postgres.js';

/** Appends events about a user. They are stored together with the changed rows, or neither is. */
export type RecordUserEvents = (userId: string, ...events: UserEvent[]) => Promise<void>;

/**
 * Changes users and tokens, and records it. The events come last: from then on until the commit, other appends wait.
 */
export async function inTransaction<Result>(
  postgres: Postgres,
  actor: Actor,
  work: (client: PoolClient, record: RecordUserEvents) => Promise<Result>,
): Promise<Result> {
  const client = await postgres.pool.connect();
  const record: RecordUserEvents = async (stream, ...[first, ...others]) => {
    if (!first) return;
    const of = { category: USER, stream, expected: 'any', site: NO_SITE, actor } as const;
    await appendInTransaction(client, postgres.clock, { ...of, events: [first, ...others] });
  };
  try {
    await followLineage(client, () => {});
    await client.query('BEGIN');
    const result = await work(client, record);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot roll back is closed, not used again.
    await client.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}
