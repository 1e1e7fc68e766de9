import type { PoolClient } from 'pg';
import { lockAppends } from '../log/append/append-lock.js';
import { readHoldDifferences } from '../log/audit/pause-audit.js';
import { newestArrival } from '../log/site-copy/site-events.js';
import type { Postgres } from '../postgres/postgres.js';
import { transaction } from '../postgres/transaction.js';
import type { Holding } from '../sites/holding.js';
import { close } from './move-out.js';

type Pool = Pick<Postgres['pool'], 'query'>;

/** What other cells have proved, in the order of sites. */
export async function readElsewhere(pool: Pool): Promise<Holding[]> {
  const { rows } = await pool.query<Holding>('SELECT site, cell, epoch FROM cc.sites_elsewhere ORDER BY site');
  return rows;
}

/**
 * Closes a site that another cell has. False if that was known, or if the site has come back meanwhile. No event says so: it would
 * take the place of one in the stream of the site that was lost here and that the other cell has, and the site could not come back.
 */
export async function closeElsewhere(postgres: Postgres, { site, cell, epoch }: Holding): Promise<boolean> {
  return underAppendLock(postgres, async (client) => {
    if ((await newestArrival(client, site)) >= epoch) return false;
    const { rowCount } = await client.query(
      `INSERT INTO cc.sites_elsewhere AS known (site, cell, epoch) VALUES ($1, $2, $3)
       ON CONFLICT (site) DO UPDATE SET (cell, epoch, found_at) = (excluded.cell, excluded.epoch, now())
         WHERE (known.cell, known.epoch) IS DISTINCT FROM (excluded.cell, excluded.epoch)`,
      [site, cell, epoch],
    );
    await close(client, site);
    return rowCount === 1;
  });
}

/** The append refuses again what the log says. False if another instance has done this. */
export async function reopen(postgres: Postgres, { site, cell, epoch }: Holding): Promise<boolean> {
  return underAppendLock(postgres, async (client) => {
    const { rowCount } = await client.query(
      'DELETE FROM cc.sites_elsewhere WHERE site = $1 AND cell = $2 AND epoch = $3',
      [site, cell, epoch],
    );
    if (!rowCount) return false;
    const difference = (await readHoldDifferences(client)).find((each) => each.site === site);
    if (difference?.found === 'closed')
      await client.query(
        difference.expected === 'paused'
          ? 'UPDATE cc.paused_sites SET closed = false WHERE site = $1'
          : 'DELETE FROM cc.paused_sites WHERE site = $1',
        [site],
      );
    return true;
  });
}

/** Nothing is stored meanwhile, so that what the log says does not change. */
function underAppendLock<Result>({ pool }: Postgres, work: (client: PoolClient) => Promise<Result>): Promise<Result> {
  return transaction(pool, async (client) => {
    await lockAppends(client);
    return work(client);
  });
}
