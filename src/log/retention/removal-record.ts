import type { Client, ClientBase } from 'pg';
import { LOG, type LogEvent, NO_SITE, RETENTION_STREAM } from '../../events/log.events.js';
import type { DatabaseClock } from '../../postgres/database-clock.js';
import { appendInTransaction } from '../append/append-in-transaction.js';
import type { Removal } from '../audit/chain-verifier.js';

/** Signs a removal as a compact JWS. Called in the transaction of the removal, with its connection. */
export type SignRemoval = (client: ClientBase, removal: Removal) => Promise<string>;

const DIGEST = `cc.event_digest(e.position, e.id, e.category, e.stream, e.version, e.type, e.site,
  (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.reference, e.data,
  CASE WHEN p.salt IS NULL THEN x.digest ELSE cc.personal_digest(p.salt, p.subject, p.data) END)`;

/** The seal that covers a position, if one does. */
const sealAt = (position: string) => `LATERAL (
  SELECT s.first, s.last FROM (SELECT first, last FROM cc.seals WHERE last >= ${position} ORDER BY last LIMIT 1) s
   WHERE s.first <= ${position})`;

/**
 * Keeps what the hash chain needs when events of a partition are removed; the temporary table `kept` has those that stay. A
 * batch that is removed entirely is represented by its seal. A batch with kept events, or with events in another partition,
 * needs the digest of each removed event.
 */
export async function keepDigests(client: Client, first: string, beyond: string): Promise<void> {
  await client.query(
    `INSERT INTO cc.removed_events (position, digest)
     SELECT e.position, ${DIGEST}
       FROM (SELECT s.first, s.last FROM kept k CROSS JOIN ${sealAt('k.position')} s
             UNION SELECT s.first, s.last FROM (VALUES ($1::bigint), ($2::bigint)) AS border (position)
                     CROSS JOIN ${sealAt('border.position')} s WHERE s.first < border.position) s
       JOIN cc.events_${first} e ON e.position BETWEEN s.first AND s.last
       LEFT JOIN cc.personal_${first} p ON p.position = e.position
       LEFT JOIN cc.erased_parts x ON x.position = e.position
      WHERE NOT EXISTS (SELECT FROM kept k WHERE k.position = e.position)`,
    [first, beyond],
  );
  await client.query(
    `DELETE FROM cc.erased_parts x WHERE x.position >= $1 AND x.position < $2
        AND NOT EXISTS (SELECT FROM kept k WHERE k.position = x.position)`,
    [first, beyond],
  );
}

/** States in the log what is removed, in the transaction that removes it. Takes the append's lock until that ends. */
export async function recordRemoval(
  client: Client,
  clock: DatabaseClock,
  { first, beyond }: { readonly first: string; readonly beyond: string },
  sign: SignRemoval,
): Promise<void> {
  const { rows } = await client.query<Removal>(
    `SELECT min(e.position)::float8 AS first, max(e.position)::float8 AS last, count(*)::float8 AS events,
            (SELECT encode(sha256(coalesce(string_agg(s.head, '' ORDER BY s.last), '')), 'hex')
               FROM cc.seals s WHERE s.first >= $1 AND s.last >= $1 AND s.last < $2
                AND s.last NOT IN (SELECT b.last FROM kept k CROSS JOIN ${sealAt('k.position')} b)) AS digest
       FROM cc.events_${first} e WHERE NOT EXISTS (SELECT FROM kept k WHERE k.position = e.position)`,
    [first, beyond],
  );
  const [removal] = rows;
  if (!removal?.events) return;
  const data = { ...removal, signature: await sign(client, removal) };
  const event = { type: 'log.partition_removed.v1', data } satisfies LogEvent;
  const of = { category: LOG, stream: RETENTION_STREAM, expected: 'any', site: NO_SITE, actor: 'system' } as const;
  await appendInTransaction(client, clock, { ...of, events: [event] });
}
