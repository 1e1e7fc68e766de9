import { type Client, DatabaseError } from 'pg';
import { formatDuration } from '../../kernel/durations.js';
import { type DatabaseClock, DIFFERENCE_MAX_MS } from '../../postgres/database-clock.js';
import type { Postgres } from '../../postgres/postgres.js';
import { withConnection } from '../../postgres/with-connection.js';
import { lockAppends } from '../append/append-lock.js';
import { latestTimeMs, readClockSteps } from '../clock-steps.js';
import type { Queryable } from '../event-reader.js';
import { followLineage } from '../lineage.js';
import { STORED_TIME } from '../stored-time.js';
import { PARTITION_LOCK } from './partitions.js';
import { keepDigests, recordRemoval, type SignRemoval } from './removal-record.js';
import {
  deleteEndedReaders,
  describeWait,
  type HoldSource,
  RETENTION_LOCK,
  type RetentionHold,
  readerHolds,
  readHolds,
} from './retention-holds.js';

/** The state of a site is folded from all its events, those of users say who had access when, and the log's own events state what was removed from it. */
export const RETAINED_CATEGORIES: readonly string[] = ['site', 'user', 'log'];

/** How long to wait for another instance that removes partitions, and for readers that are registering. */
const TURN_TIMEOUT_MS = 10_000;
/** While the DROP waits for an open reader of the partition, every append waits behind it. Autovacuum gives way after 1 s. */
const DROP_TIMEOUT_MS = 2_000;
const DAY_MS = 24 * 60 * 60_000;
/** The next partition begins after this time at the latest: no event is kept for longer than this beyond its age. */
const PARTITION_MAX_MS = 30 * DAY_MS;

export interface RetentionOptions {
  /** A partition is removed once its newest event is older than this, by the database's clock. */
  readonly olderThanMs: number;
  /** Besides the registered readers. */
  readonly holds: readonly HoldSource[];
  /** Signs what is removed, so that only the service can state a removal. */
  readonly sign: SignRemoval;
  onMessage(line: string): void;
}

interface Partition {
  readonly first: string;
  readonly beyond: string;
  /** Position of its newest event; undefined if it has none. */
  readonly newest: number | undefined;
}

/**
 * Removes expired partitions with their personal parts, oldest first, up to the first one that is still needed, so that the
 * log has no holes. Never removes the partition being written, partitions ahead of it, or events that a hold protects; but ends
 * the one being written when it is old. Any number of instances may call it: a lock lets one at a time decide and remove.
 */
export async function dropExpiredPartitions(postgres: Postgres, options: RetentionOptions): Promise<number> {
  const doubt = doubtOfClock(postgres.clock);
  if (doubt !== undefined) {
    options.onMessage(`LOG_RETENTION waits: ${doubt}.`);
    return 0;
  }
  const nowMs = postgres.clock.nowMs();
  return withConnection(postgres.connectAsOwner('retention'), async (client) => {
    await followLineage(client, options.onMessage);
    await inTurn(client, () => endOldPartition(client, nowMs, options.olderThanMs));
    let dropped = 0;
    while (await inTurn(client, () => dropOldest(client, postgres.clock, nowMs, options))) dropped += 1;
    return dropped;
  });
}

/** The oldest partition that is past its age, whether it is held or not. `nowMs`: the database's time. */
export async function findExpiredPartition(
  source: Queryable,
  olderThanMs: number,
  nowMs: number,
): Promise<Partition | undefined> {
  const { rows } = await source.query<{ first: string; beyond: string }>(
    `SELECT first, beyond FROM cc.log_partitions
      WHERE NOT thinned AND beyond <= (SELECT last_value FROM cc.event_position) ORDER BY first LIMIT 1`,
  );
  const oldest = rows[0];
  if (!oldest) return undefined;
  const { rows: newest } = await source.query<{ position: number; time: number }>(
    `SELECT e.position::float8 AS position, extract(epoch FROM ${STORED_TIME})::float8 * 1000 AS time
       FROM cc.events e WHERE e.position >= $1 AND e.position < $2 ORDER BY e.position DESC LIMIT 1`,
    [oldest.first, oldest.beyond],
  );
  const [event] = newest;
  if (event && latestTimeMs(await readClockSteps(source), event.position, event.time, nowMs) >= nowMs - olderThanMs)
    return undefined;
  return { ...oldest, newest: event?.position };
}

/**
 * Lets the next event begin the next partition, once that exists, if the first one of this is old. The positions between are not
 * used.
 */
async function endOldPartition(client: Client, nowMs: number, olderThanMs: number): Promise<boolean> {
  const longestMs = Math.min(PARTITION_MAX_MS, Math.max(DAY_MS, olderThanMs));
  const { rows } = await client.query<{ beyond: string; time: Date }>(
    `SELECT p.beyond, first.time FROM cc.log_partitions p, cc.event_position s CROSS JOIN LATERAL (
       SELECT ${STORED_TIME} AS time FROM cc.events e WHERE e.position >= p.first AND e.position < p.beyond
        ORDER BY e.position LIMIT 1) first
      WHERE p.first <= s.last_value AND s.last_value < p.beyond
        AND EXISTS (SELECT FROM cc.log_partitions next WHERE next.first = p.beyond)`,
  );
  const [current] = rows;
  if (!current || current.time.getTime() >= nowMs - longestMs) return false;
  await lockAppends(client);
  await client.query(`SELECT setval('cc.event_position', greatest(last_value, $1)) FROM cc.event_position`, [
    current.beyond,
  ]);
  return true;
}

/** A removal cannot be undone, so a clock that may be wrong does not cause one. */
export function doubtOfClock(clock: DatabaseClock): string | undefined {
  const differenceMs = Math.abs(clock.differenceMs());
  if (differenceMs <= DIFFERENCE_MAX_MS) return clock.refusal();
  return `the clocks of this machine and of the database differ by ${formatDuration(Math.round(differenceMs))}`;
}

/** Decides and removes under one lock, so that a reader that registers meanwhile waits and finds out what is gone. */
async function inTurn(client: Client, work: () => Promise<boolean>): Promise<boolean> {
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${TURN_TIMEOUT_MS}`);
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [RETENTION_LOCK]);
    const dropped = await work();
    await client.query('COMMIT');
    return dropped;
  } catch (error) {
    await client.query('ROLLBACK');
    const isLockTimeout = error instanceof DatabaseError && error.code === '55P03';
    if (!isLockTimeout) throw error;
    // Another instance is removing partitions, or a reader has one open: the next call tries again.
    return false;
  }
}

async function dropOldest(
  client: Client,
  clock: DatabaseClock,
  nowMs: number,
  options: RetentionOptions,
): Promise<boolean> {
  await deleteEndedReaders(client);
  const partition = await findExpiredPartition(client, options.olderThanMs, nowMs);
  if (!partition) return false;
  const holds = partition.newest === undefined ? [] : await holdsOf(client, options.holds, partition.newest);
  if (holds[0]) {
    options.onMessage(await describeWait('LOG_RETENTION', client, holds[0], holds.length - 1));
    return false;
  }
  await thinPartition(client, clock, partition, options.sign);
  return true;
}

function holdsOf(client: Client, sources: readonly HoldSource[], until: number): Promise<RetentionHold[]> {
  return readHolds([readerHolds(client), ...sources], until);
}

async function thinPartition(
  client: Client,
  clock: DatabaseClock,
  partition: Partition,
  sign: SignRemoval,
): Promise<void> {
  const { first, beyond } = partition;
  await client.query('CREATE TEMP TABLE kept (LIKE cc.events) ON COMMIT DROP');
  const { rowCount } = await client.query(
    `INSERT INTO kept SELECT * FROM cc.events_${first} WHERE category = ANY ($1)`,
    [RETAINED_CATEGORIES],
  );
  await client.query(
    `CREATE TEMP TABLE kept_parts ON COMMIT DROP AS
       SELECT p.position, p.site, p.subject, p.data, p.salt FROM cc.personal_${first} p JOIN kept k ON k.position = p.position`,
  );
  await keepDigests(client, first, beyond);
  await client.query(
    // A derived id is a UUIDv8: a process that derives it again must find that it was used.
    `INSERT INTO cc.removed_streams SELECT stream FROM cc.events_${first}
      WHERE version = 1 AND category <> ALL ($1) AND get_byte(uuid_send(stream), 6) >> 4 = 8 ON CONFLICT DO NOTHING`,
    [RETAINED_CATEGORIES],
  );
  await client.query(`SET LOCAL lock_timeout = ${DROP_TIMEOUT_MS}`);
  await client.query('SELECT pg_advisory_xact_lock($1)', [PARTITION_LOCK]);
  // Before the DROP, because appends take their lock first, and then those of the tables.
  await recordRemoval(client, clock, partition, sign);
  await client.query(`DROP TABLE cc.events_${first}, cc.personal_${first}`);
  await client.query('DELETE FROM cc.log_partitions WHERE first = $1', [first]);
  if (!rowCount) return;
  await client.query('SELECT cc.add_partition($1, $2)', [first, beyond]);
  await client.query('INSERT INTO cc.events SELECT * FROM kept');
  await client.query('INSERT INTO cc.personal (position, site, subject, data, salt) SELECT * FROM kept_parts');
  await client.query('UPDATE cc.log_partitions SET thinned = true WHERE first = $1', [first]);
}
