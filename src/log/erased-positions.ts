import type { Pool, QueryConfig } from 'pg';

const TIMEOUT_MS = 2_000;

/** Which of these events, all of which had a personal part, have none any more. */
export async function findErased(
  pool: Pick<Pool, 'query'>,
  positions: readonly number[],
): Promise<ReadonlySet<number>> {
  const { rows } = await pool.query<{ position: number }>({
    name: 'find-erased',
    text: `SELECT q.position::float8 AS position FROM unnest($1::bigint[]) AS q (position)
            WHERE NOT EXISTS (SELECT FROM cc.personal p WHERE p.position = q.position)`,
    values: [positions],
    query_timeout: TIMEOUT_MS,
  } as QueryConfig);
  return new Set(rows.map(({ position }) => position));
}
