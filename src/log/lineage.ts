import type { ClientBase } from 'pg';

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
