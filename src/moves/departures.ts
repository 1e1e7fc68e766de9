import type { ClientBase, Pool, PoolClient } from 'pg';
import { UserError } from '../kernel/errors.js';
import { lockAppends } from '../log/append/append-lock.js';
import { RETENTION_LOCK } from '../log/retention/retention-holds.js';
import { readMoveCells } from '../log/site-copy/site-events.js';
import type { Postgres } from '../postgres/postgres.js';
import { transaction } from '../postgres/transaction.js';

type Queries = Pick<ClientBase | Pool, 'query'>;
type Departing = Omit<MoveProgress, 'direction'>;

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
 * The move is under way from here on: log retention waits. Removals that are being stored have ended before, so that a read of the log
 * sees what they did. `isIncomplete`: the site has left and not
 * arrived, whatever was recorded, as after the other cell was restored. False if the move has ended before.
 */
export async function beginDeparture(
  { pool }: Pick<Postgres, 'pool'>,
  progress: Departing,
  isIncomplete: boolean,
): Promise<boolean> {
  return withLocks(pool, async (client) => {
    await refuseOther(client, progress);
    await recordDeparture(client, progress, isIncomplete);
    const { rowCount } = await client.query(
      `SELECT FROM cc.site_moves WHERE site = $1 AND direction = 'out' AND epoch = $2 AND NOT done`,
      [progress.site, progress.epoch],
    );
    return rowCount === 1;
  });
}

/**
 * A move to another cell that has copied something goes on, or is cancelled: what is erased meanwhile would reach only one of the
 * two cells, and nothing would name the copy in the other one.
 */
export async function refuseOther(
  client: Queries,
  { site, epoch, cell }: Pick<MoveProgress, 'site' | 'epoch' | 'cell'>,
): Promise<void> {
  const { rows } = await client.query<{ cell: string }>(
    `SELECT cell FROM cc.site_moves WHERE site = $1 AND direction = 'out' AND epoch = $2 AND cell <> $3 AND NOT done`,
    [site, epoch, cell],
  );
  if (rows[0])
    throw new UserError(
      `A move of ${site} to cell ${rows[0].cell} has begun. Complete it with "sites move ${site} --to ${rows[0].cell}", or cancel it first: "sites move ${site} --cancel".`,
    );
}

/**
 * What `sites move` has done so far, in the cell that the site leaves. It decides nothing: the logs of both cells do. A mover that
 * was frozen while its move was completed or cancelled changes nothing.
 */
export async function recordDeparture(
  client: Queries,
  { site, epoch, cell, events, total }: Departing,
  isIncomplete = false,
): Promise<void> {
  await client.query(
    `INSERT INTO cc.site_moves AS m (site, direction, epoch, cell, events, total) VALUES ($1, 'out', $2, $3, $4, $5)
     ON CONFLICT (site, direction) DO UPDATE SET (epoch, cell, events, total, done, updated_at) =
       (excluded.epoch, excluded.cell, excluded.events, excluded.total, false, now())
       WHERE m.epoch < excluded.epoch OR (m.epoch = excluded.epoch AND (NOT m.done OR $6))`,
    [site, epoch, cell, events, total, isIncomplete],
  );
}

/** The move is complete. False if something was erased after the position, which the other cell still has to erase. */
export async function endDeparture(
  { pool }: Pick<Postgres, 'pool'>,
  { site, epoch, erasedUntil }: { readonly site: string; readonly epoch: number; readonly erasedUntil: number },
): Promise<boolean> {
  return withLocks(pool, async (client) => {
    const { rowCount } = await client.query(
      'SELECT FROM cc.erased_parts x JOIN cc.events e USING (position) WHERE x.since > $2 AND e.site = $1 LIMIT 1',
      [site, erasedUntil],
    );
    if (rowCount) return false;
    await setDone(client, site, epoch);
    return true;
  });
}

/** The move was cancelled. What was copied stays in the other cell, which is told to discard it. */
export async function cancelDeparture({ pool }: Pick<Postgres, 'pool'>, site: string, epoch: number): Promise<void> {
  await withLocks(pool, (client) => setDone(client, site, epoch));
}

async function setDone(client: Queries, site: string, epoch: number): Promise<void> {
  await client.query(
    `UPDATE cc.site_moves SET done = true, updated_at = now()
      WHERE site = $1 AND direction = 'out' AND epoch <= $2 AND NOT done`,
    [site, epoch],
  );
}

/** Erasures hold the second lock until they are stored, and retention the first one when it removes. */
function withLocks<Result>(pool: Pool, work: (client: PoolClient) => Promise<Result>): Promise<Result> {
  return transaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock_shared($1)', [RETENTION_LOCK]);
    await lockAppends(client);
    return work(client);
  });
}

/** Another cell that has personal data of a site, because the site was or is copied there or from there. */
export interface OtherCopy {
  readonly cell: string;
  /** The move that is under way erases there what is erased here. */
  readonly isCarried: boolean;
}

/**
 * Cells of all moves of the site, and of one that copies and has not started: a cell that a site has left keeps its
 * copy, and so does one that a cancelled move led to. `own`: the name of this cell.
 */
export async function findOtherCopies(pool: Queries, site: string, own: string): Promise<OtherCopy[]> {
  const { rows } = await pool.query<OtherCopy>(
    `SELECT cell, bool_or(direction = 'out' AND NOT done) AS "isCarried" FROM cc.site_moves WHERE site = $1 GROUP BY cell`,
    [site],
  );
  const isCarried = new Map(rows.map((copy) => [copy.cell, copy.isCarried]));
  const cells = new Set([...(await readMoveCells(pool, site)), ...isCarried.keys()]);
  cells.delete(own);
  return [...cells].sort().map((cell) => ({ cell, isCarried: isCarried.get(cell) ?? false }));
}
