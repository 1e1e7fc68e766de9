import type { ClientBase } from 'pg';
import { UserError } from '../kernel/errors.js';
import { lockAppends } from '../log/append/append-lock.js';

/** With the event that pauses the site, in its transaction: nothing new is stored of it from then on. */
export async function beginPause(client: ClientBase, host: string): Promise<void> {
  // Before the row: with the end of a hold because of another cell, the row is deleted.
  await lockAppends(client);
  await client.query('INSERT INTO cc.paused_sites (site) VALUES ($1) ON CONFLICT DO NOTHING', [host]);
}

/** Not the hold of a site that another cell has, which the log here may not know: the append refuses the event then. */
export async function endPause(client: ClientBase, host: string): Promise<void> {
  // Taken before the row is read: what closes a site, or opens it again, holds this lock.
  await lockAppends(client);
  const { rowCount } = await client.query('SELECT FROM cc.paused_sites WHERE site = $1 AND closed', [host]);
  if (rowCount)
    throw new UserError(`Another cell has ${host}, or is about to get it. "sites list" shows which: change it there.`);
  await client.query('DELETE FROM cc.paused_sites WHERE site = $1', [host]);
}
