import { type ClientBase, escapeLiteral } from 'pg';
import { boundedRead } from '../bounded-read.js';
import type { StoredEvent } from '../event.js';
import { type FieldsAt, readEventsAt, readFieldsAt } from '../event-reader.js';

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
export async function findNewestByField(client: ClientBase, options: NewestOptions): Promise<StoredEvent[]> {
  const positions = await searching(client, () => findPositions(client, options));
  return readFound(client, options, positions);
}

/** The events at positions that such a search has found, newest first. */
export async function readFound(
  client: ClientBase,
  { site, field, keys }: Pick<NewestOptions, 'site' | 'field' | 'keys'>,
  positions: readonly number[],
): Promise<StoredEvent[]> {
  const events = await readEventsAt(client, positions);
  // The index has only a hash of them.
  const isWanted = (event: StoredEvent) => {
    const { [field]: value = '' } = event.data as Record<string, unknown>;
    return event.site === site && keys.some((key) => key.type === event.type && key.value === value);
  };
  return events.filter(isWanted).reverse();
}

/** What a search has looked at. */
export interface LookedAt {
  /** All that the index finds, newest first. It has a hash of what they are found by: `readFound` may leave one out. */
  readonly positions: readonly number[];
  /** Fields of the events that `opened` matches. */
  readonly fields: readonly FieldsAt[];
}

/**
 * Some data fields of the newest events by type and a data field, newest first, to look for what no index has. With `opened` only of
 * streams whose first event has this value of a field.
 */
export function lookAtNewest(
  client: ClientBase,
  options: NewestOptions,
  fields: readonly string[],
  opened?: { readonly field: string; readonly is: string },
): Promise<LookedAt> {
  return searching(client, async () => {
    const positions = await findPositions(client, options);
    const found = positions.length === 0 ? [] : await readFieldsAt(client, positions, fields, opened);
    return { positions, fields: found.reverse() };
  });
}

async function findPositions(
  client: ClientBase,
  { site, field, indexed, keys, after, before, limit }: NewestOptions,
): Promise<number[]> {
  const value = `coalesce(e.data ->> ${escapeLiteral(field)}, '')`;
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
  return rows
    .map(({ position }) => position)
    .sort((one, other) => other - one)
    .slice(0, limit);
}

/**
 * Each key is read in the order of the index, and only as far as the limit. Without statistics of the index the planner would rather read
 * all events of a key and sort them. Starting a parallel worker takes longer than what it would read.
 */
const searching = <Result>(client: ClientBase, search: () => Promise<Result>): Promise<Result> =>
  boundedRead(client, search, {
    advice: 'Select a connection or a shorter period.',
    settings: `SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
      SET LOCAL max_parallel_workers_per_gather = 0`,
  });
