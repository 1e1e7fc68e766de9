import type { Pool } from 'pg';
import type { HoldSource } from '../log/retention-holds.js';

/** How far the move of a site from here, or to here, has come. */
export interface MoveProgress {
  readonly site: string;
  readonly direction: 'in' | 'out';
  /** The other cell. */
  readonly cell: string;
  readonly epoch: number;
  readonly events: number;
  /** Null in the cell that the site moves to. */
  readonly total: number | null;
}

/** Moves that are under way. */
export async function readMoves(pool: Pick<Pool, 'query'>): Promise<MoveProgress[]> {
  const { rows } = await pool.query<MoveProgress>(
    `SELECT site, direction, cell, epoch, events::float8 AS events, total::float8 AS total FROM cc.site_moves WHERE NOT done ORDER BY site`,
  );
  return rows;
}

/**
 * What `sites move` has done so far, in the cell that the site leaves. It decides nothing: the logs of both cells do. A mover that
 * was frozen while its move was completed or cancelled changes nothing. `isIncomplete`: the site has left and not arrived, whatever
 * was recorded, as after the other cell was restored.
 */
export async function recordDeparture(
  pool: Pick<Pool, 'query'>,
  { site, epoch, cell, events, total }: Omit<MoveProgress, 'direction'>,
  isIncomplete = false,
): Promise<void> {
  await pool.query(
    `INSERT INTO cc.site_moves AS m (site, direction, epoch, cell, events, total) VALUES ($1, 'out', $2, $3, $4, $5)
     ON CONFLICT (site, direction) DO UPDATE SET (epoch, cell, events, total, done, updated_at) =
       (excluded.epoch, excluded.cell, excluded.events, excluded.total, false, now())
       WHERE m.epoch < excluded.epoch OR (m.epoch = excluded.epoch AND (NOT m.done OR $6))`,
    [site, epoch, cell, events, total, isIncomplete],
  );
}

/** The move is complete, or was cancelled. */
export async function endDeparture(pool: Pick<Pool, 'query'>, site: string, epoch: number): Promise<void> {
  await pool.query(
    `UPDATE cc.site_moves SET done = true, updated_at = now()
      WHERE site = $1 AND direction = 'out' AND epoch <= $2 AND NOT done`,
    [site, epoch],
  );
}

/** The other cell compares how many events it got with how many there were. */
export function moveHolds(pool: Pick<Pool, 'query'>): HoldSource {
  return async () =>
    (await readMoves(pool))
      .filter(({ direction }) => direction === 'out')
      .map(({ site, cell }) => ({
        holder: `the move of ${site} to cell ${cell}`,
        position: 0,
        fix: `Run "sites move ${site} --to ${cell}" to its end, or cancel it with "sites move ${site} --cancel".`,
      }));
}
