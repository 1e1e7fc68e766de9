import type { PoolClient } from 'pg';
import { NO_SITE } from '../events/log.events.js';
import { USER, type UserEvent } from '../events/user.events.js';
import type { Actor } from '../kernel/command.js';
import { appendingTransaction } from '../log/append/append-in-transaction.js';
import type { Postgres } from '../postgres/postgres.js';

/** Appends events about a user. They are stored together with the changed rows, or neither is. */
type RecordUserEvents = (userId: string, ...events: UserEvent[]) => Promise<void>;

/** Changes users and tokens, and records it. The events come last: from then on until the commit, other appends wait. */
export async function inTransaction<Result>(
  postgres: Pick<Postgres, 'pool' | 'clock'>,
  actor: Actor,
  work: (client: PoolClient, record: RecordUserEvents) => Promise<Result>,
): Promise<Result> {
  return appendingTransaction(postgres, (client, append) =>
    work(client, async (stream, ...[first, ...others]) => {
      if (!first) return;
      const of = { category: USER, stream, expected: 'any', site: NO_SITE, actor } as const;
      await append({ ...of, events: [first, ...others] });
    }),
  );
}
