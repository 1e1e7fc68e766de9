import type { EventCount } from '../log/event-reader.js';
import type { Page, Projection } from '../log/projections/projection.js';
import { CountReducer } from '../log/projections/reducer.js';
import { COUNTED, COUNTED_BY, sumTotals } from './totals.js';

const COUNTS = new CountReducer(COUNTED, COUNTED_BY);

/** Totals by site and minute, for display. Pushes do not use it: they are counted from the log itself. */
export const totalsProjection: Projection = {
  name: 'totals',
  tables: ['totals'],
  bySite: true,
  reducers: [COUNTS],
  async fold(page: Page): Promise<void> {
    const byMinute = new Map<string, EventCount[]>();
    for (const count of (await page.reduce(COUNTS)).counts()) {
      const id = `${count.site} ${count.minute}`;
      byMinute.set(id, [...(byMinute.get(id) ?? []), count]);
    }
    const rows = [...byMinute.values()]
      .map((counts) => ({ ...sumTotals(counts), site: counts[0]?.site, minute: isoMinute(counts[0] as EventCount) }))
      .filter((row) => row.conversions + row.bot_traffic_removed > 0);
    if (rows.length === 0) return;
    await page.tx.query(
      `INSERT INTO totals (site, minute, conversions, bot_traffic_removed)
       SELECT site, minute, conversions, bot_traffic_removed FROM json_to_recordset($1) AS t (
         site text, minute timestamptz, conversions bigint, bot_traffic_removed bigint)
       ON CONFLICT (site, minute) DO UPDATE SET conversions = totals.conversions + excluded.conversions,
         bot_traffic_removed = totals.bot_traffic_removed + excluded.bot_traffic_removed`,
      [JSON.stringify(rows)],
    );
  },
};

function isoMinute({ minute }: EventCount): string {
  return new Date(minute).toISOString();
}
