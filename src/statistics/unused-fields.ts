import type { Postgres } from '../postgres/postgres.js';
import { type Period, toQuarters } from './buckets.js';
import { type AsOf, readSnapshot } from './snapshot.js';

export interface UnusedField {
  /** Of an unknown one a common misspelling; `other` stands for all other names. */
  readonly field: string;
  /** Conversions in which its value was not valid, in whole or in part. */
  readonly dropped: number;
  /** Conversions that have it although it is not the name of a field. */
  readonly unknown: number;
}

export interface UnusedFields {
  readonly asOf: AsOf;
  readonly from: string;
  readonly to: string;
  readonly items: readonly UnusedField[];
}

/** What senders of a site stated and the service did not use, the most frequent first. Both kinds of names are fixed lists. */
export function readUnusedFields(postgres: Postgres, site: string, period: Period): Promise<UnusedFields> {
  const { fromMs, toMs } = toQuarters(period);
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  return readSnapshot(postgres, ['statistics'], async (client) => {
    const { rows } = await client.query<UnusedField>(
      `SELECT field, sum(dropped)::float8 AS dropped, sum(unknown)::float8 AS unknown FROM cc.field_statistics
        WHERE site = $1 AND quarter >= $2 AND quarter < $3 GROUP BY field ORDER BY sum(dropped + unknown) DESC, field`,
      [site, from, to],
    );
    return { from: from.toISOString(), to: to.toISOString(), items: rows };
  });
}
