import type { ClientBase } from 'pg';
import { NO_SITE } from '../events/log.events.js';
import { USER, type UserEvent } from '../events/user.events.js';
import type { Actor } from '../kernel/command.js';
import type { ChangeWithEvents } from '../log/append/append-in-transaction.js';
import { lockAppends } from '../log/append/append-lock.js';

/** Written by the append: a rebuild drops in the same way what they have of an earlier site, by `bySite` of their projections. */
const INLINE = ['dedup', 'identifiers', 'consent'];
/** Beside the log, for a time only. The answer to a request that is repeated would be about the earlier site. */
const TEMPORARY = ['jobs', 'platform_sign_ins', 'idempotency_keys'];

/**
 * Ends what an earlier site with the host has left, in the transaction that adds another one. No user of the earlier site sees
 * the new one, and no token that was created for it is valid. Its events stay, and
 * its secrets are the caller's to replace.
 */
export async function endEarlierSite(
  client: ClientBase,
  append: Parameters<ChangeWithEvents>[1],
  host: string,
  actor: Actor,
): Promise<void> {
  // What others may hold comes before the append lock, so that none waits for the other.
  const changes = await withdrawAccess(client, host);
  for (const table of TEMPORARY) await client.query(`DELETE FROM cc.${table} WHERE site = $1`, [host]);
  await lockAppends(client);
  for (const table of INLINE) await client.query(`DELETE FROM cc.${table} WHERE site = $1`, [host]);
  for (const [stream, event] of changes)
    await append({ category: USER, stream, expected: 'any', site: NO_SITE, actor, events: [event] });
}

/** Returns the events that record it, each with the user that it is about. */
async function withdrawAccess(client: ClientBase, host: string): Promise<[user: string, UserEvent][]> {
  // As wherever users change: one change at a time.
  await client.query('LOCK TABLE cc.users IN SHARE ROW EXCLUSIVE MODE');
  const { rows: users } = await client.query<{ id: string; sites: string[] }>(
    'UPDATE cc.users SET sites = array_remove(sites, $1) WHERE $1 = ANY (sites) RETURNING id, sites',
    [host],
  );
  const { rows: tokens } = await client.query<{ id: string; owner: string }>(
    `UPDATE cc.api_tokens SET revoked_at = now() WHERE $1 = ANY (sites) AND revoked_at IS NULL
     RETURNING id, owner_id AS owner`,
    [host],
  );
  return [
    ...users.map(({ id, sites }): [string, UserEvent] => [id, { type: 'user.changed.v1', data: { sites } }]),
    ...tokens.map(({ id, owner }): [string, UserEvent] => [
      owner,
      { type: 'user.token_revoked.v1', data: { tokenId: id } },
    ]),
  ];
}
