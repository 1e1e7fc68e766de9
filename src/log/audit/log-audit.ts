import type { ClientBase } from 'pg';
import { copyOut } from '../copy.js';
import type { StoredEvent } from '../event.js';
import type { Queryable } from '../event-reader.js';
import { EventRow, rowColumns } from '../event-row.js';
import { POSITION_JUMP } from '../lineage.js';

/**
 * Reads the log stream by stream up to a position, each stream complete and ordered by version, without personal parts. The
 * database sorts, on disk if necessary: this process holds one stream in memory.
 */
export async function copyStreams(
  client: ClientBase,
  until: number,
  each: (events: readonly StoredEvent[]) => void,
): Promise<void> {
  const row = new EventRow();
  let stream: StoredEvent[] = [];
  await copyOut(
    client,
    `COPY (SELECT ${rowColumns('subject')} FROM cc.events e LEFT JOIN cc.personal p ON false
       WHERE e.position <= ${Number(until)} ORDER BY e.category, e.stream, e.version) TO STDOUT`,
    (line) => {
      const event = row.at(line).event();
      if (stream.length > 0 && stream[0]?.stream !== event.stream) {
        each(stream);
        stream = [];
      }
      stream.push(event);
    },
  );
  if (stream.length > 0) each(stream);
}

/**
 * Retention has removed the events up to this position, except those of the categories that it keeps; 0 if it has removed
 * none.
 */
export async function readRemovedUntil(source: Queryable): Promise<number> {
  const { rows } = await source.query<{ until: string }>(
    'SELECT greatest(0, min(first) FILTER (WHERE NOT thinned) - 1) AS until FROM cc.log_partitions',
  );
  return Number(rows[0]?.until ?? 0);
}

/**
 * Number of events, and of seals, whose time is before that of the previous one, except where the log records that its clock was
 * set back. Of these sites only the seals are compared: their events may have been stored later than they state.
 */
export async function countOutOfOrder(
  source: Queryable,
  until: number,
  withoutSites: Iterable<string> = [],
): Promise<{ events: number; seals: number }> {
  const { rows } = await source.query<{ events: number; seals: number }>(
    `SELECT (${countEarlier('SELECT position, time FROM cc.events WHERE position <= $1 AND site <> ALL ($2)')}) AS events,
            (${countEarlier('SELECT last AS position, time FROM cc.seals WHERE last <= $1')}) AS seals`,
    [until, [...withoutSites]],
  );
  return rows[0] as { events: number; seals: number };
}

/** A step is at the first event after it, and retention may have removed the one before it. */
const countEarlier = (timed: string) => `SELECT count(*)::float8 FROM (
    SELECT position, time, lag(time) OVER earlier AS previous, lag(position) OVER earlier AS after FROM (${timed}) t
    WINDOW earlier AS (ORDER BY position)) e
   WHERE time < previous AND NOT EXISTS (
     SELECT FROM cc.clock_steps s WHERE s.position > e.after AND s.position <= e.position
        AND s.before_time >= e.previous AND s.after_time <= e.time)`;

/**
 * Recorded steps of the clock that did not happen: the seals show another time before or after them, or no seal begins there. All of
 * them, because also one far ahead of the log changes what its times mean.
 */
export async function readUnfoundedSteps(source: Queryable): Promise<number[]> {
  const { rows } = await source.query<{ position: number }>(
    `SELECT s.position::float8 AS position FROM cc.clock_steps s
       LEFT JOIN LATERAL (SELECT first, time FROM cc.seals WHERE last >= s.position ORDER BY last LIMIT 1) after ON true
       LEFT JOIN LATERAL (SELECT time FROM cc.seals WHERE last < s.position ORDER BY last DESC LIMIT 1) before ON true
       LEFT JOIN LATERAL (SELECT time FROM cc.events WHERE position < s.position ORDER BY position DESC LIMIT 1) unsealed ON true
      WHERE (after.first, after.time, coalesce(before.time, unsealed.time)) IS DISTINCT FROM (s.position, s.after_time, s.before_time)
      ORDER BY s.position`,
  );
  return rows.map(({ position }) => position);
}

/** Position, category and stream (with its category) of every event up to a position, in order. */
export async function copyStreamsByPosition(
  client: ClientBase,
  until: number,
  each: (position: number, category: string, stream: string) => void,
): Promise<void> {
  await copyOut(
    client,
    `COPY (SELECT position, category, stream FROM cc.events
       WHERE position <= ${Number(until)} ORDER BY position) TO STDOUT`,
    (line) => {
      const [position, category, stream] = line.toString('utf8', 0, line.length - 1).split('\t') as [
        string,
        string,
        string,
      ];
      each(Number(position), category, `${category}-${stream}`);
    },
  );
}

/** Whether the log has no later event of the same lineage: a restored backup or a failover may have lost these positions. */
export async function areAtEndOfLineage(source: Queryable, positions: readonly number[]): Promise<boolean[]> {
  const { rows } = await source.query<{ last: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM cc.events e WHERE e.position > p AND e.position < (p / $2 + 1) * $2) AS last
       FROM unnest($1::bigint[]) WITH ORDINALITY AS u (p, n) ORDER BY n`,
    [positions, POSITION_JUMP],
  );
  return rows.map(({ last }) => last);
}
