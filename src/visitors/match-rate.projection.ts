import { CONVERSION } from '../events/conversion.events.js';
import type { Page, Projection } from '../log/projections/projection.js';
import { CountReducer } from '../log/projections/reducer.js';

interface DayCounts {
  readonly site: string;
  readonly day: string;
  readonly conversions: number;
  readonly matched: number;
  readonly late: number;
  readonly judged: number;
}

const COUNTS = new CountReducer(
  ['conversion.received.v1', 'conversion.reopened.v1'],
  ['trial', 'matched', 'judged', 'joins', 'correction'],
);

/** Received conversions by day, without corrections, and how many of them were matched to a visit. Reads no personal data. */
export const matchRateProjection: Projection = {
  name: 'match_rate',
  tables: ['match_rate'],
  reducers: [COUNTS],
  source: 'any',
  categories: [CONVERSION],
  async fold(page: Page): Promise<void> {
    const days = new Map<string, DayCounts>();
    for (const { type, site, minute, values, count } of (await page.reduce(COUNTS)).counts()) {
      const [trial, matched, judged, joins, correction] = values;
      const isLate = type === 'conversion.reopened.v1';
      const day = isLate ? joins : new Date(minute).toISOString().slice(0, 10);
      if (trial === 'true' || correction === 'true' || !day) continue;
      const key = `${site} ${day}`;
      const counts = days.get(key) ?? { site, day, conversions: 0, matched: 0, late: 0, judged: 0 };
      days.set(key, {
        ...counts,
        conversions: counts.conversions + (isLate ? 0 : count),
        matched: counts.matched + (isLate || matched === 'true' ? count : 0),
        late: counts.late + (isLate ? count : 0),
        judged: counts.judged + (judged === 'true' ? count : 0),
      });
    }
    if (days.size === 0) return;
    await page.tx.query(
      `INSERT INTO match_rate AS m (site, day, conversions, matched, late, judged)
       SELECT site, day, conversions, matched, late, judged FROM json_to_recordset($1) AS d (
         site text, day date, conversions bigint, matched bigint, late bigint, judged bigint)
       ON CONFLICT (site, day) DO UPDATE SET conversions = m.conversions + excluded.conversions,
         matched = m.matched + excluded.matched, late = m.late + excluded.late, judged = m.judged + excluded.judged`,
      [JSON.stringify([...days.values()])],
    );
  },
};
