import type { ClientBase } from 'pg';
import { LINEAGE, STORED_LINEAGE } from '../postgres/lineage.js';
import type { Queryable } from './event-reader.js';

/** Larger than any number of events that a failover or an old backup can lose. */
export const POSITION_JUMP = 1_000_000_000;

/**
 * A failover or a restored backup may have lost the last events of the log, and would reuse their positions for new events: a
 * reader that has seen the lost ones would skip the new ones forever. So on another server or timeline, or in another database, the
 * log continues far beyond every position that a reader can have seen.
 */
export async function followLineage(client: ClientBase, onMessage: (line: string) => void): Promise<void> {
  const { rows } = await client.query<{ start: string | null }>('SELECT cc.follow_lineage($1) AS start', [
    POSITION_JUMP,
  ]);
  const position = rows[0]?.start;
  if (position)
    onMessage(`The database was restored or failed over since the last write: positions continue at ${position}.`);
}

/**
 * Lets the log continue in the same way, whatever the database says about itself: for a copy of the files of a server, which cannot be
 * told from the original. Only the owner of the tables may. Returns the position at which the log continues; undefined if it has no events.
 */
export async function leapLineage(owner: ClientBase): Promise<number | undefined> {
  const before = await readJump(owner);
  // First on its own: if this ends here, the next writer leaps.
  await owner.query(`UPDATE cc.lineage SET database = ''`);
  await followLineage(owner, () => {});
  const jump = await readJump(owner);
  return jump && jump.continuesAt !== before?.continuesAt ? jump.continuesAt : undefined;
}

export interface Jump {
  readonly kept: number;
  readonly continuesAt: number;
}

/**
 * The last position before the log jumped ahead the last time, and the one at which it continues; undefined if it never has.
 */
export async function readJump(source: Queryable): Promise<Jump | undefined> {
  const { rows } = await source.query<Jump>(
    `SELECT start::float8 AS "continuesAt", (SELECT coalesce(max(position), 0)::float8 FROM cc.events WHERE position < start) AS kept
       FROM cc.lineage WHERE start IS NOT NULL`,
  );
  return rows[0];
}

/** Lineage of the database that answers, before or after `followLineage`. */
export async function readServerLineage(source: Queryable): Promise<string> {
  const { rows } = await source.query<{ lineage: string }>({
    name: 'read-server-lineage',
    text: `SELECT ${LINEAGE} AS lineage`,
  });
  return (rows[0] as { lineage: string }).lineage;
}

/** Whether `followLineage` was called since the last change. */
export async function isFollowed(source: Queryable): Promise<boolean> {
  const { rows } = await source.query<{ followed: boolean | null }>(
    `SELECT ${LINEAGE} = ${STORED_LINEAGE} AS followed`,
  );
  return rows[0]?.followed === true;
}

export interface Lineage {
  /** Where it began; 0 of the first one. */
  readonly start: number;
  /** The last position that was assigned. New events get later ones. */
  readonly drawn: number;
}

/** The lineage after `followLineage`. */
export async function readLineage(source: Queryable): Promise<Lineage> {
  const { rows } = await source.query<Lineage>(
    'SELECT coalesce(l.start, 0)::float8 AS start, s.last_value::float8 AS drawn FROM cc.lineage l, cc.event_position s',
  );
  return rows[0] as Lineage;
}
