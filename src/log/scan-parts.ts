import type { ClientBase, Pool } from 'pg';

/** Events of the log that one query looks at: those of other sites are many, and no index leads to a site's. */
const SCANNED_EVENTS = 100_000;

/** Where a query that looks at events after a position ends. `isEnd`: the log, or the given end, comes before its limit. */
export async function readScanEnd(
  client: Pick<ClientBase | Pool, 'query'>,
  after: number,
  end = Number.MAX_SAFE_INTEGER,
): Promise<{ until: number; isEnd: boolean }> {
  const { rows } = await client.query<{ last: string | null; count: string }>(
    `SELECT max(position) AS last, count(*) FROM (
       SELECT position FROM cc.events WHERE position > $1 AND position <= $3 ORDER BY position LIMIT $2) scanned`,
    [after, SCANNED_EVENTS, end],
  );
  const { last, count } = rows[0] as { last: string | null; count: string };
  return { until: Number(last ?? after), isEnd: Number(count) < SCANNED_EVENTS };
}

/** Divides the log after a position into parts that one query can look at within its time, however large the log is. */
export async function* scanParts(
  client: Pick<ClientBase | Pool, 'query'>,
  after: number,
  end?: number,
): AsyncGenerator<{ readonly after: number; readonly until: number }> {
  for (let from = after, isLast = false; !isLast; ) {
    const { until, isEnd } = await readScanEnd(client, from, end);
    if (until > from) yield { after: from, until };
    from = until;
    isLast = isEnd;
  }
}
