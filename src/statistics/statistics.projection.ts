import { CONVERSION } from '../events/conversion.events.js';
import type { OutcomeType } from '../events/delivery.events.js';
import { INBOUND } from '../events/inbound.events.js';
import type { Page, Projection } from '../log/projection.js';

const QUARTER_MS = 15 * 60_000;

const DECISIONS = ['conversion.received.v1', 'conversion.deduplicated.v1', 'conversion.filtered.v1'];

/** The column of each outcome that is final unless the delivery is requested or opened again. */
const COLUMN_OF_OUTCOME = {
  'conversion.delivered.v1': 'delivered',
  'conversion.accepted.v1': 'accepted',
  'conversion.confirmed.v1': 'confirmed',
  'conversion.rejected.v1': 'rejected',
  'conversion.failed.v1': 'failed',
  'conversion.skipped.v1': 'skipped',
} as const satisfies Partial<Record<OutcomeType, string>>;

/**
 * Counts by site and quarter of an hour, besides those of the projection `totals`. As there, neither trial conversions nor
 * corrections count. Outcomes are counted as they are recorded: a delivery that failed and was sent again has two, and those of
 * corrections are among them.
 */
export const statisticsProjection: Projection = {
  name: 'statistics',
  tables: ['conversion_statistics', 'delivery_statistics', 'refusal_statistics'],
  async fold(page: Page): Promise<void> {
    await foldConversions(page);
    await foldDeliveries(page);
    await foldRefusals(page);
  },
};

async function foldConversions(page: Page): Promise<void> {
  const by = ['trial', 'correction', 'currency', 'matched', 'differs'];
  const rows: object[] = [];
  for (const { type, site, minute, values, count, sum } of await page.sum('value', DECISIONS, by)) {
    const [trial, correction, currency, matched, differs] = values;
    if (trial === 'true' || correction === 'true') continue;
    const of = { site, quarter: quarterOf(minute), currency };
    if (type === 'conversion.received.v1')
      rows.push({ ...of, conversions: count, value: sum, matched: matched === 'true' ? count : 0 });
    else if (type === 'conversion.deduplicated.v1')
      rows.push({ ...of, duplicates: count, changed_duplicates: differs === '[]' ? 0 : count });
    else rows.push({ ...of, filtered: count });
  }
  for (const { site, time, data } of await readLateMatches(page))
    rows.push({ site, quarter: quarterOf(Date.parse(time)), currency: data.currency, matched: 1 });
  const columns = { conversions: 'bigint', value: 'numeric', matched: 'bigint', duplicates: 'bigint' } as const;
  const further = { changed_duplicates: 'bigint', filtered: 'bigint' } as const;
  await addTo(page, 'conversion_statistics', 'currency', { ...columns, ...further }, rows);
}

/** Conversions that were matched to a visit that was identified later. They count in the quarter in which they were received. */
async function readLateMatches(page: Page) {
  const reopened = await page.events({ types: ['conversion.reopened.v1'] });
  const matched = reopened.filter(({ data }) => data.joins !== undefined && !data.trial);
  if (matched.length === 0) return [];
  const ids = matched.map(({ stream }) => stream.slice(CONVERSION.length + 1));
  return (await page.openings(CONVERSION, ids)).filter((event) => event.type === 'conversion.received.v1');
}

async function foldDeliveries(page: Page): Promise<void> {
  const rows: object[] = [];
  const counts = await page.count(Object.keys(COLUMN_OF_OUTCOME), ['platform', 'nextTry']);
  for (const { type, site, minute, values, count } of counts) {
    const [platform, nextTry] = values;
    // Before the last status request it is not known whether the conversion counts.
    if (nextTry !== null) continue;
    const column = COLUMN_OF_OUTCOME[type as keyof typeof COLUMN_OF_OUTCOME];
    rows.push({ site, quarter: quarterOf(minute), platform, [column]: count });
  }
  const columns = Object.fromEntries(Object.values(COLUMN_OF_OUTCOME).map((column) => [column, 'bigint' as const]));
  await addTo(page, 'delivery_statistics', 'platform', columns, rows);
}

async function foldRefusals(page: Page): Promise<void> {
  const refusals = await page.events({ categories: [INBOUND], types: ['inbound.rejected.v1'] });
  const rows = refusals.map(({ site, time, data }) => {
    return { site, quarter: quarterOf(Date.parse(time)), refused: data.count };
  });
  await addTo(page, 'refusal_statistics', undefined, { refused: 'bigint' }, rows);
}

/** Adds to the rows of a table. A column that a row does not name stays as it is. */
async function addTo(
  page: Page,
  table: string,
  by: 'currency' | 'platform' | undefined,
  columns: Readonly<Record<string, 'bigint' | 'numeric'>>,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  const keys = by === undefined ? 'site, quarter' : `site, quarter, ${by}`;
  const names = Object.keys(columns);
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  await page.tx.query(
    `INSERT INTO ${table} AS t (${keys}, ${names.join(', ')})
     SELECT ${keys}, ${names.map((name) => `coalesce(sum(${name}), 0)`).join(', ')}
       FROM json_to_recordset($1) AS r (site text, quarter timestamptz, currency text, platform text, ${typed.join(', ')})
      GROUP BY ${keys}
     ON CONFLICT (${keys}) DO UPDATE SET ${names.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}`,
    [JSON.stringify(rows)],
  );
}

function quarterOf(timeMs: number): string {
  return new Date(Math.floor(timeMs / QUARTER_MS) * QUARTER_MS).toISOString();
}
