import type { ClientBase } from 'pg';
import type { Queryable } from './event-reader.js';

/** Far enough beyond whatever tail a fail-over or an old backup can have lost. */
const LEAP = 1_000_000_000;

/**
 * A fail-over or a restored backup may have lost the log's last events, and would then give their positions to new ones:
 * a reader that had seen the lost ones would skip the new for ever. So a server that is not the one the log was last
 * written on, or that is on another timeline, starts far ahead of every position that can have been seen.
 */
export async function followLineage(client: ClientBase, say: (line: string) => void): Promise<void> {
  const { rows } = await client.query<{ leapt: string | null }>('SELECT cc.follow_lineage($1) AS leapt', [LEAP]);
  const position = rows[0]?.leapt;
  if (position) say(`The database was restored or failed over since the last write: positions go on at ${position}.`);
}

export interface Lineage {
  readonly system: string;
  readonly timeline: string;
  /** The last position that was drawn: a new event gets a later one. */
  readonly drawn: number;
}

/** As it stands after `followLineage`. */
export async function readLineage(source: Queryable): Promise<Lineage> {
  const { rows } = await source.query<{ system: string; timeline: string; drawn: string }>(
    'SELECT l.system, l.timeline, s.last_value AS drawn FROM cc.lineage l, cc.event_position s',
  );
  const { system, timeline, drawn } = rows[0] as (typeof rows)[0];
  return { system, timeline, drawn: Number(drawn) };
}
