import type { ClientBase } from 'pg';
import { copyOut } from './copy.js';
import type { StoredEvent } from './event.js';
import type { Queryable } from './event-reader.js';
import { EventRow, rowColumns } from './event-row.js';
import { POSITION_JUMP } from './lineage.js';

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

/** Number of events whose time is before that of the previous event, except where the log records that its clock was set back. */
export async function countOutOfOrder(source: Queryable, until: number): Promise<number> {
  const { rows } = await source.query<{ count: string }>(
    // Retention may have removed the event right before a step, so that an earlier one precedes it now.
    `SELECT count(*) FROM (
       SELECT position, time, lag(time) OVER (ORDER BY position) AS previous FROM cc.events WHERE position <= $1) e
      WHERE time < previous AND NOT EXISTS (
        SELECT FROM cc.clock_steps s WHERE s.position = e.position AND s.before_time >= e.previous AND s.after_time = e.time)`,
    [until],
  );
  return Number(rows[0]?.count ?? 0);
}

/** Position, category and stream (with its category) of every event up to a position, in order. */
export async function copyStreamsByPosition(
  client: ClientBase,
  until: number,
  each: (position: number, category: string, stream: string) => void,
): Promise<void> {
  await copyOut(
    client,
    `COPY (SELECT position, category, stream FROM cc.events WHERE position <= ${Number(until)} ORDER BY position) TO STDOUT`,
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
