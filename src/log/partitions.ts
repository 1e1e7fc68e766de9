import type { ClientBase } from 'pg';
import type { Postgres } from '../postgres/postgres.js';

const PARTITION_EVENTS = 5_000_000;
const KEPT_AHEAD = 2;

export interface PartitionState {
  readonly position: number;
  readonly partitions: number;
  /** Whole empty partitions beyond the one that is being written. */
  readonly ahead: number;
}

/** Keeps empty partitions ahead of the log, so that an append never waits for one to be made. */
export async function keepPartitionsAhead(
  postgres: Postgres,
  partitionEvents = PARTITION_EVENTS,
): Promise<PartitionState> {
  return asKeeper(postgres, async (client) => {
    let state = await readPartitions(client);
    while (state.ahead < KEPT_AHEAD) {
      await client.query('SELECT cc.add_partition(max(beyond), max(beyond) + $1::bigint) FROM cc.log_partitions', [
        partitionEvents,
      ]);
      state = await readPartitions(client);
    }
    return state;
  });
}

/** Drops partitions whose newest event is older than the retention. Never the one being written, nor those ahead. */
export async function dropPartitionsBefore(postgres: Postgres, moment: Date): Promise<number> {
  return asKeeper(postgres, async (client) => {
    const { rows } = await client.query<{ first: string; beyond: string }>(
      `SELECT first, beyond FROM cc.log_partitions
        WHERE beyond <= (SELECT last_value FROM cc.event_position) ORDER BY first`,
    );
    let dropped = 0;
    for (const { first } of rows) {
      const newest = await client.query<{ old: boolean }>(
        `SELECT time < $1 AS old FROM cc.events_${first} ORDER BY position DESC LIMIT 1`,
        [moment],
      );
      // In order, and no further than the first that is still wanted: the log keeps no holes. An empty one holds nothing.
      if (newest.rows[0]?.old === false) break;
      await client.query(`BEGIN; SET LOCAL lock_timeout = '2s';
        DROP TABLE cc.events_${first}, cc.personal_${first};
        DELETE FROM cc.log_partitions WHERE first = ${first};
        COMMIT`);
      dropped += 1;
    }
    return dropped;
  });
}

export async function readPartitions(client: Pick<ClientBase, 'query'>): Promise<PartitionState> {
  const { rows } = await client.query(
    `SELECT s.last_value AS position, count(*) AS partitions, count(*) FILTER (WHERE p.first > s.last_value) AS ahead
       FROM cc.event_position s, cc.log_partitions p GROUP BY s.last_value`,
  );
  const row = rows[0] as { position: string; partitions: string; ahead: string };
  return { position: Number(row.position), partitions: Number(row.partitions), ahead: Number(row.ahead) };
}

/** One instance at a time, as the owner of the schema. */
async function asKeeper<Result>(postgres: Postgres, work: (client: ClientBase) => Promise<Result>): Promise<Result> {
  const client = await postgres.connectAsOwner('cc-partitions');
  try {
    await client.query('SELECT pg_advisory_lock(4845004)');
    return await work(client);
  } finally {
    await client.end();
  }
}
