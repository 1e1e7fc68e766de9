import type { Queryable } from './event-reader.js';

/** A stored dedup claim. */
export interface StoredClaim {
  readonly stream: string;
  readonly weak: boolean;
  readonly atMs: number;
}

/** The claims on these keys (32 hex digits) of a site, expired ones included. For readers that only want to know: an append decides. */
export async function findClaims(
  source: Queryable,
  site: string,
  keys: readonly string[],
): Promise<Map<string, StoredClaim>> {
  const { rows } = await source.query<{ key: string; stream: string; weak: boolean; at: number }>({
    name: 'find-claims',
    text: `SELECT replace(key::text, '-', '') AS key, stream, weak, (extract(epoch FROM at) * 1000)::float8 AS at
             FROM cc.dedup WHERE site = $1 AND key = ANY ($2::uuid[])`,
    values: [site, keys],
  });
  return new Map(rows.map(({ key, stream, weak, at }) => [key, { stream, weak, atMs: at }]));
}
