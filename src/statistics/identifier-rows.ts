import type { ClientBase } from 'pg';
import type { CountedConversion } from './counted-conversion.js';
import { countCarried, noCounts } from './identifier-counts.js';

/** Adds conversions to the counts of identifiers, or takes them out of them. */
export async function changeIdentifiers(
  tx: ClientBase,
  conversions: readonly CountedConversion[],
  by: 1 | -1,
): Promise<void> {
  const sums = new Map<string, { row: object; conversions: number; carried: number[] }>();
  for (const [conversion, count] of countAlike(conversions)) {
    const { site, quarter, platforms, matched, attribution } = conversion;
    const key = `${site} ${quarter} ${platforms}`;
    const sum = sums.get(key) ?? { row: { site, quarter, platforms }, conversions: 0, carried: noCounts() };
    sums.set(key, sum);
    sum.conversions += by * count;
    countCarried(sum.carried, { identifiers: attribution?.identifiers ?? [], matched }, by * count);
  }
  const rows = JSON.stringify(
    [...sums.values()].map(({ row, conversions, carried }) => {
      return { ...row, conversions, carried: `{${carried.join(',')}}` };
    }),
  );
  await tx.query({
    name: 'add-to-identifier-statistics',
    text: `INSERT INTO identifier_statistics AS t (site, quarter, platforms, conversions, carried)
           SELECT site, quarter, platforms, conversions, carried::bigint[] FROM json_to_recordset($1) AS r (
             site text, quarter timestamptz, platforms text, conversions bigint, carried text)
           ON CONFLICT (site, quarter, platforms) DO UPDATE SET conversions = t.conversions + excluded.conversions,
             carried = ARRAY(SELECT coalesce(one, 0) + coalesce(other, 0)
                               FROM unnest(t.carried, excluded.carried) WITH ORDINALITY AS c (one, other, index)
                              ORDER BY index)`,
    values: [rows],
  });
  if (by < 0)
    await tx.query(
      `DELETE FROM identifier_statistics i
        USING json_to_recordset($1) AS r (site text, quarter timestamptz, platforms text)
        WHERE i.site = r.site AND i.quarter = r.quarter AND i.platforms = r.platforms AND i.conversions <= 0`,
      [rows],
    );
}

/** The number of conversions with the same identifiers, by one of them. */
function countAlike(conversions: readonly CountedConversion[]): Map<CountedConversion, number> {
  const alike = new Map<string, CountedConversion>();
  const counts = new Map<CountedConversion, number>();
  for (const conversion of conversions) {
    const { site, quarter, platforms, matched, attribution } = conversion;
    const key = `${site} ${quarter} ${platforms} ${matched} ${attribution?.identifiers.join()}`;
    const one = alike.get(key) ?? conversion;
    alike.set(key, one);
    counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return counts;
}
