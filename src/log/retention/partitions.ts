import type { ClientBase } from 'pg';
import type { Postgres } from '../../postgres/postgres.js';
import { withConnection } from '../../postgres/with-connection.js';

/** Advisory lock of partition maintenance. */
export const PARTITION_LOCK = 4845005;
const PARTITION_EVENTS = 5_000_000;
const PARTITIONS_AHEAD = 2;
/** A session that hangs while it holds the lock must not keep the keepers of all instances waiting; they try again later. */
const LOCK_TIMEOUT_MS = 5_000;

/** After the last one, or where positions continue that have left all partitions behind: a crash may undo a partition and not the sequence. */
const ADD_NEXT = `SELECT cc.add_partition(first, first + $1::bigint)
  FROM (SELECT greatest(max(p.beyond), s.last_value / $1::bigint * $1::bigint) AS first
          FROM cc.log_partitions p, cc.event_position s GROUP BY s.last_value) next`;

export interface PartitionState {
  readonly position: number;
  readonly partitions: number;
  /** Empty partitions after the one that is being written. */
  readonly ahead: number;
}

/** Creates empty partitions ahead of the log, so that an append never waits for one. Runs in one instance at a time, as the owner of the schema. */
export async function keepPartitionsAhead(
  postgres: Postgres,
  partitionEvents = PARTITION_EVENTS,
): Promise<PartitionState> {
  return withConnection(postgres.connectAsOwner('partitions'), async (client) => {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query('SELECT pg_advisory_lock($1)', [PARTITION_LOCK]);
    let state = await readPartitions(client);
    while (state.ahead < PARTITIONS_AHEAD) {
      await client.query(ADD_NEXT, [partitionEvents]);
      state = await readPartitions(client);
    }
    return state;
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
