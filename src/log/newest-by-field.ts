import { DatabaseError, escapeLiteral, type Pool } from 'pg';
import { UserError } from '../kernel/errors.js';
import type { StoredEvent } from './event.js';
import { readEventsAt } from './event-reader.js';

/** A search is one of many: it must not keep a connection of the pool for long. */
const STATEMENT_TIMEOUT_MS = 3_000;
const QUERY_CANCELED = '57014';

export interface NewestOptions {
  readonly site: string;
  /** The data field, and all types, of an index on site, type and field. */
  readonly field: string;
  readonly indexed: readonly string[];
  /** Which events: those of a type with a value of the field; '' if they do not have it. */
  readonly keys: readonly { readonly type: string; readonly value: string }[];
  /** Exclusive. */
  readonly after: number;
  /** Exclusive. */
  readonly before: number;
  readonly limit: number;
}

/**
 * The newest events of a site by type and a data field, newest first. The cost depends on the number of keys and on the limit, not on
 * the length of the log.
 */
export async function findNewestByField(pool: Pool, options: NewestOptions): Promise<StoredEvent[]> {
  const { site, field, keys, limit } = options;
  const positions = await findPositions(pool, options);
  const newest = positions.sort((one, other) => other - one).slice(0, limit);
  const events = await readEventsAt(pool, newest);
  // The index has only a hash of them.
  const isWanted = (event: StoredEvent) => {
    const { [field]: value = '' } = event.data as Record<string, unknown>;
    return event.site === site && keys.some((key) => key.type === event.type && key.value === value);
  };
  return events.filter(isWanted).reverse();
}

async function findPositions(pool: Pool, { site, field, indexed, keys, after, before, limit }: NewestOptions) {
  const value = `coalesce(e.data ->> ${escapeLiteral(field)}, '')`;
  const client = await pool.connect();
  try {
    // Each key is read in the order of the index, and only as far as the limit. Without statistics of the index the planner would
    // rather read all events of a key and sort them.
    await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS};
      SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`);
    const { rows } = await client.query<{ position: number }>(
      `SELECT found.position FROM unnest($1::text[], $2::text[]) AS k (type, value) CROSS JOIN LATERAL (
         SELECT e.position::float8 AS position FROM cc.events e
          WHERE e.type IN (${indexed.map((type) => escapeLiteral(type)).join(', ')})
            AND hashtextextended(${value}, hashtextextended(e.type, hashtextextended(e.site, 0)))
              = hashtextextended(k.value, hashtextextended(k.type, hashtextextended($3, 0)))
            AND - e.position < - $4::bigint AND - e.position > - $5::bigint
            AND e.position > $4::bigint AND e.position < $5::bigint
          ORDER BY - e.position LIMIT $6) found`,
      [keys.map(({ type }) => type), keys.map((key) => key.value), site, after, before, limit],
    );
    await client.query('COMMIT');
    client.release();
    return rows.map(({ position }) => position);
  } catch (error) {
    // Closed instead of reused: the transaction may still be open on it.
    client.release(true);
    if (error instanceof DatabaseError && error.code === QUERY_CANCELED)
      throw new UserError('The search takes too long. Select a connection or a shorter period.');
    throw error;
  }
}
