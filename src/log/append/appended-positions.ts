import type { Queryable } from '../event-reader.js';

/** While two instances append in turns, each batch is a range: a minute under load. */
const RANGES_MAX = 20_000;

/** Consecutive positions, both ends inclusive. */
export interface AppendedRange {
  readonly first: number;
  readonly last: number;
}

/** What this process has appended lately. After a failover to a lagging standby it tells what was lost. */
export class AppendedPositions {
  private ranges: AppendedRange[] = [];

  note(first: number, last: number): void {
    const newest = this.ranges.at(-1);
    if (newest && newest.last + 1 === first) this.ranges[this.ranges.length - 1] = { first: newest.first, last };
    else this.ranges.push({ first, last });
    if (this.ranges.length > RANGES_MAX) this.ranges = this.ranges.slice(RANGES_MAX / 2);
  }

  /** Those that the log does not have any more, except what retention removed. Each is returned once. */
  async takeLost(source: Queryable): Promise<AppendedRange[]> {
    if (this.ranges.length === 0) return [];
    const { rows } = await source.query<AppendedRange & { whole: number }>(
      `SELECT coalesce(kept + 1, first)::float8 AS first, last::float8 AS last, first::float8 AS whole
         FROM (SELECT r.first, r.last, (
                 SELECT max(position) FROM cc.events e WHERE e.position BETWEEN r.first AND r.last) AS kept
                 FROM unnest($1::bigint[], $2::bigint[]) AS r (first, last)) found
        WHERE kept IS DISTINCT FROM last
          AND EXISTS (SELECT FROM cc.log_partitions p WHERE p.first <= found.last AND found.last < p.beyond AND NOT p.thinned)
        ORDER BY first`,
      [this.ranges.map(({ first }) => first), this.ranges.map(({ last }) => last)],
    );
    const lost = new Set(rows.map(({ whole }) => whole));
    this.ranges = this.ranges.filter(({ first }) => !lost.has(first));
    return rows.map(({ first, last }) => ({ first, last }));
  }
}
