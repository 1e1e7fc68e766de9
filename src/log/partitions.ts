import type { ClientBase } from 'pg';
import type { Postgres } from '../postgres/postgres.js';

/** Advisory lock of partition maintenance. */
const PARTITION_LOCK = 4845005;
const PARTITION_EVENTS = 5_000_000;
const PARTITIONS_AHEAD = 2;
/** A session that hangs while it holds the lock must not keep the keepers of all instances waiting; they try again later. */
const LOCK_TIMEOUT_MS = 5_000;

export interface PartitionState {
  readonly position: number;
  readonly partitions: number;
  /** Empty partitions after the one that is being written. */
  readonly ahead: number;
}

/** Creates empty partitions ahead of the log, so that an append never waits for one. */
export async function keepPartitionsAhead(
  postgres: Postgres,
  partitionEvents = PARTITION_EVENTS,
): Promise<PartitionState> {
  return withPartitionLock(postgres, async (client) => {
    let state = await readPartitions(client);
    while (state.ahead < PARTITIONS_AHEAD) {
      await client.query('SELECT cc.add_partition(max(beyond), max(beyond) + $1::bigint) FROM cc.log_partitions', [
        partitionEvents,
      ]);
      state = await readPartitions(client);
    }
    return state;
  });
}

/**
 * Removes partitions whose newest event is older than the retention period, with their personal parts. Events of the
 * categories to keep stay at their positions: the state of a site is folded from all its events. Never removes the partition
 * being written, partitions ahead of it, or events that a registered reader (cc.log_holds) has not read yet.
 */
export async function dropPartitionsBefore(
  postgres: Postgres,
  moment: Date,
  keep: readonly string[] = [],
  onMessage: (line: string) => void = () => {},
): Promise<number> {
  return withPartitionLock(postgres, async (client) => {
    const hold = await readHold(client);
    const { rows } = await client.query<{ first: string; beyond: string }>(
      `SELECT first, beyond FROM cc.log_partitions
        WHERE NOT thinned AND beyond <= (SELECT last_value FROM cc.event_position) ORDER BY first`,
    );
    let dropped = 0;
    for (const { first, beyond } of rows) {
      const newest = await client.query<{ old: boolean }>(
        `SELECT time < $1 AS old FROM cc.events_${first} ORDER BY position DESC LIMIT 1`,
        [moment],
      );
      // Oldest first, up to the first partition that is still needed, so that the log has no holes. An empty one is dropped too.
      if (newest.rows[0]?.old === false) break;
      if (hold && hold.position < Number(beyond) - 1) {
        onMessage(
          `LOG_RETENTION waits for ${hold.name}, which has read up to position ${hold.position}: nothing is dropped yet.`,
        );
        break;
      }
      await thinPartition(client, first, beyond, keep);
      dropped += 1;
    }
    return dropped;
  });
}

/** The slowest of the readers that must see an event before it is dropped. */
async function readHold(client: ClientBase): Promise<{ name: string; position: number } | undefined> {
  const { rows } = await client.query<{ name: string; position: string }>(
    'SELECT name, position FROM cc.log_holds ORDER BY position LIMIT 1',
  );
  return rows[0] && { name: rows[0].name, position: Number(rows[0].position) };
}

async function thinPartition(
  client: ClientBase,
  first: string,
  beyond: string,
  keep: readonly string[],
): Promise<void> {
  await client.query(`BEGIN; SET LOCAL lock_timeout = '2s'`);
  try {
    await client.query(`CREATE TEMP TABLE kept (LIKE cc.events) ON COMMIT DROP`);
    const { rowCount } = await client.query(
      `INSERT INTO kept SELECT * FROM cc.events_${first} WHERE category = ANY ($1)`,
      [keep],
    );
    await client.query(`DROP TABLE cc.events_${first}, cc.personal_${first}`);
    await client.query('DELETE FROM cc.log_partitions WHERE first = $1', [first]);
    if (rowCount) {
      await client.query('SELECT cc.add_partition($1, $2)', [first, beyond]);
      await client.query('INSERT INTO cc.events SELECT * FROM kept');
      await client.query('UPDATE cc.log_partitions SET thinned = true WHERE first = $1', [first]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

export async function readPartitions(client: Pick<ClientBase, 'query'>): Promise<PartitionState> {
  const { rows } = await client.query(
    `SELECT s.last_value AS position, count(*) AS partitions, count(*) FILTER (WHERE p.first > s.last_value) AS ahead
       FROM cc.event_position s, cc.log_partitions p GROUP BY s.last_value`,
  );
  const row = rows[0] as { position: string; partitions: string; ahead: string };
  return { position: Number(row.position), partitions: Number(row.partitions), ahead: Number(row.ahead) };
}

/** Runs in one instance at a time, as the owner of the schema. */
async function withPartitionLock<Result>(
  postgres: Postgres,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  const client = await postgres.connectAsOwner('partitions');
  try {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query('SELECT pg_advisory_lock($1)', [PARTITION_LOCK]);
    return await work(client);
  } finally {
    await client.end();
  }
}
