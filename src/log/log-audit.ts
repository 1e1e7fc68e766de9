import type { ClientBase } from 'pg';
import { copyOut } from './copy.js';
import type { StoredEvent } from './event.js';
import type { Queryable } from './event-reader.js';
import { EventRow, rowColumns } from './event-row.js';

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

/** Number of events whose time is before that of the previous event. The append keeps time monotonic, so it must be 0. */
export async function countOutOfOrder(source: Queryable, until: number): Promise<number> {
  const { rows } = await source.query<{ count: string }>(
    `SELECT count(*) FROM (
       SELECT time < lag(time) OVER (ORDER BY position) AS earlier FROM cc.events WHERE position <= $1) e WHERE earlier`,
    [until],
  );
  return Number(rows[0]?.count ?? 0);
}
