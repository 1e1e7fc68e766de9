import type { ClientBase } from 'pg';
import type { Queryable } from './event-reader.js';

/** Larger than any number of events that a failover or an old backup can lose. */
export const POSITION_JUMP = 1_000_000_000;

/**
 * A failover or a restored backup may have lost the last events of the log, and would reuse their positions for new events: a
 * reader that has seen the lost ones would skip the new ones forever. So on another server, or on another timeline, the log
 * continues far beyond every position that a reader can have seen.
 */
export async function followLineage(client: ClientBase, onMessage: (line: string) => void): Promise<void> {
  const { rows } = await client.query<{ start: string | null }>('SELECT cc.follow_lineage($1) AS start', [
    POSITION_JUMP,
  ]);
  const position = rows[0]?.start;
  if (position)
    onMessage(`The database was restored or failed over since the last write: positions continue at ${position}.`);
}

export interface Lineage {
  readonly system: string;
  readonly timeline: string;
  /** The last position that was assigned. New events get later ones. */
  readonly drawn: number;
}

/** The lineage after `followLineage`. */
export async function readLineage(source: Queryable): Promise<Lineage> {
  const { rows } = await source.query<{ system: string; timeline: string; drawn: string }>(
    'SELECT l.system, l.timeline, s.last_value AS drawn FROM cc.lineage l, cc.event_position s',
  );
  const { system, timeline, drawn } = rows[0] as (typeof rows)[0];
  return { system, timeline, drawn: Number(drawn) };
}
