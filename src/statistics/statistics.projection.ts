import type { ClientBase } from 'pg';
import { CONVERSION, type ConversionData, type ConversionPersonal, isCounted } from '../events/conversion.events.js';
import type { Outcome, OutcomeType, Reopening } from '../events/delivery.events.js';
import { INBOUND } from '../events/inbound.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Page, Projection } from '../log/projections/projection.js';
import { CountReducer, listEvents, type PageRow, type Reducer } from '../log/projections/reducer.js';
import type { Visit } from '../platforms/conversion.js';
import { addToRows } from './add-to-rows.js';
import { addAttributions, joinAttributions, takeAttributions } from './attributions.js';
import { CONSENT, foldConsent } from './consent-statistics.js';
import { type CountedConversion, countedConversion, quarterOf } from './counted-conversion.js';
import { DecimalSum } from './decimal-sum.js';

/** Conversions of a site and a quarter that may have any source. After a change the projection must be rebuilt. */
const FIRST_MAX = 1_000;

const RECEIVED = 'conversion.received.v1';
const REOPENED = 'conversion.reopened.v1';

/** The column of each outcome that is final unless the delivery is requested or opened again. */
const COLUMN_OF_OUTCOME = {
  'conversion.delivered.v1': 'delivered',
  'conversion.accepted.v1': 'accepted',
  'conversion.confirmed.v1': 'confirmed',
  'conversion.rejected.v1': 'rejected',
  'conversion.failed.v1': 'failed',
  'conversion.skipped.v1': 'skipped',
} as const satisfies Partial<Record<OutcomeType, string>>;

const EXPIRED_REASONS: readonly string[] = ['gave_up', 'too_old'];

const IN_QUARTER = { site: 'text', quarter: 'timestamptz' } as const;

/**
 * Counts by site and quarter of an hour, besides those of the projection `totals`, and where conversions came from. As there,
 * neither trial conversions nor corrections count (outcomes that earlier versions recorded of them do). Outcomes are counted as they are recorded: a delivery that failed and was
 * sent again has two. In one projection, so that all numbers are as of the same position.
 */
export function statisticsProjection(firstMax = FIRST_MAX): Projection {
  return {
    name: 'statistics',
    tables: [
      ...['conversion_statistics', 'delivery_statistics', 'refusal_statistics', 'consent_statistics'],
      ...['field_statistics', 'event_statistics', 'attributions', 'attribution_limits', 'identifier_statistics'],
    ],
    bySite: true,
    prunedBy: { attributions: 'quarter', attribution_limits: 'quarter', identifier_statistics: 'quarter' },
    reducers: [CONVERSIONS, OUTCOMES, EXPIRED, REFUSALS, CONSENT],
    async fold(page: Page): Promise<void> {
      await foldConversions(page, firstMax);
      await foldDeliveries(page);
      await foldRefusals(page);
      await foldConsent(page.tx, await page.reduce(CONSENT));
    },
    forget: { types: [RECEIVED, REOPENED], take },
  };
}

/** Counts of one currency in a quarter. */
class Counts {
  readonly value = new DecimalSum();
  readonly counts = { conversions: 0, matched: 0, duplicates: 0, changed_duplicates: 0, filtered: 0 };

  constructor(private readonly of: { site: string; quarter: string; currency: string }) {}

  rows(): object[] {
    const [value, ...others] = this.value.parts();
    return [{ ...this.of, ...this.counts, value }, ...others.map((value) => ({ ...this.of, value }))];
  }
}

class CountsByCurrency {
  private readonly all = new Map<string, Counts>();

  of(site: string, quarter: string, currency: string): Counts {
    const key = `${site} ${quarter} ${currency}`;
    const found = this.all.get(key);
    if (found) return found;
    const counts = new Counts({ site, quarter, currency });
    this.all.set(key, counts);
    return counts;
  }

  rows(): object[] {
    return [...this.all.values()].flatMap((counts) => counts.rows());
  }
}

class Conversions {
  readonly byCurrency = new CountsByCurrency();
  readonly received: CountedConversion[] = [];
  /** Visits of late matches, by conversion. */
  readonly visits = new Map<string, Visit | undefined>();
  /** Rows of fields that were sent and not used. */
  readonly fields: object[] = [];
  readonly events: object[] = [];

  add(row: PageRow): void {
    if (row.type === REOPENED) {
      // The first event of a late match; the others are about further deliveries of the conversion.
      const { joins, trial } = row.data() as Reopening;
      if (joins !== undefined && !trial)
        this.visits.set(row.streamId, (row.personal() as { visit?: Visit } | null)?.visit);
      return;
    }
    const data = row.data() as ConversionData & { differs?: string[] };
    const { site, timeMs } = row;
    if (!data.trial) {
      // Of corrections, too: their senders make the same mistakes.
      const of = { site, quarter: quarterOf(timeMs) };
      for (const field of data.dropped ?? []) this.fields.push({ ...of, field, dropped: 1 });
      for (const field of data.unknown ?? []) this.fields.push({ ...of, field, unknown: 1 });
    }
    if (!isCounted(data)) return;
    const { value, counts } = this.byCurrency.of(site, quarterOf(timeMs), data.currency);
    if (row.type === RECEIVED) {
      const personal = row.personal() as ConversionPersonal | null;
      this.received.push(countedConversion({ position: row.position, site, timeMs, data, personal }));
      this.events.push({ site, quarter: quarterOf(timeMs), event: data.event, conversions: 1 });
      counts.conversions += 1;
      value.add(data.value ?? 0);
      if (data.matched) counts.matched += 1;
    } else if (row.type === 'conversion.deduplicated.v1') {
      counts.duplicates += 1;
      if (data.differs?.length !== 0) counts.changed_duplicates += 1;
    } else counts.filtered += 1;
  }
}

const CONVERSIONS: Reducer<Conversions> = {
  types: [RECEIVED, 'conversion.deduplicated.v1', 'conversion.filtered.v1', REOPENED],
  start: () => new Conversions(),
  add: (conversions, row) => conversions.add(row),
};
const OUTCOMES = new CountReducer(Object.keys(COLUMN_OF_OUTCOME), ['platform', 'nextTry', 'uncounted']);
/** Deliveries that ended because they were too old. Not counted by reason: those of platforms are countless. */
const EXPIRED: Reducer<object[]> = {
  types: ['conversion.failed.v1', 'conversion.skipped.v1'],
  start: () => [],
  add(rows, row) {
    const { platform, reason = '', uncounted } = row.data() as Outcome;
    if (uncounted !== undefined || !EXPIRED_REASONS.includes(reason)) return;
    rows.push({ site: row.site, quarter: quarterOf(row.timeMs), platform, expired: 1 });
  },
};
const REFUSALS = listEvents<StoredEvent<'inbound.rejected.v1'>>({
  categories: [INBOUND],
  types: ['inbound.rejected.v1'],
});

async function foldConversions(page: Page, firstMax: number): Promise<void> {
  const { byCurrency, received, visits, fields, events } = await page.reduce(CONVERSIONS);
  const joins = await readJoins(page, visits);
  for (const { site, quarter, currency } of joins.counted) byCurrency.of(site, quarter, currency).counts.matched += 1;
  await addAttributions(page.tx, received, firstMax);
  const counts = { conversions: 'bigint', value: 'numeric', matched: 'bigint', duplicates: 'bigint' } as const;
  const columns = { ...counts, changed_duplicates: 'bigint', filtered: 'bigint' } as const;
  await addToRows(page.tx, 'conversion_statistics', { ...IN_QUARTER, currency: 'text' }, columns, byCurrency.rows());
  const unused = { dropped: 'bigint', unknown: 'bigint' } as const;
  await addToRows(page.tx, 'field_statistics', { ...IN_QUARTER, field: 'text' }, unused, fields);
  await addToRows(page.tx, 'event_statistics', { ...IN_QUARTER, event: 'text' }, { conversions: 'bigint' }, events);
  await joinAttributions(page.tx, joins.known);
}

/** Conversions that were matched later. They count in the quarter in which they were received. */
async function readJoins(page: Page, visits: ReadonlyMap<string, Visit | undefined>) {
  const counted: CountedConversion[] = [];
  const known: { before: CountedConversion; after: CountedConversion }[] = [];
  if (visits.size === 0) return { counted, known };
  for (const event of await page.openings(CONVERSION, [...visits.keys()])) {
    if (event.type !== RECEIVED || !isCounted(event.data)) continue;
    const before = countedConversion(partsOf(event));
    counted.push(before);
    const visit = visits.get(event.stream.slice(CONVERSION.length + 1));
    if (visit && event.personal) known.push({ before, after: countedConversion(partsOf(event), visit) });
  }
  return { counted, known };
}

/** The conversions of an erased person leave the attributions. They still count in the totals. */
async function take(tx: ClientBase, events: readonly StoredEvent[]): Promise<void> {
  const visits = new Map<string, Visit | undefined>();
  for (const event of events)
    if (event.type === REOPENED && event.data.joins !== undefined) visits.set(event.stream, event.personal?.visit);
  const conversions = events.flatMap((event) =>
    event.type === RECEIVED && isCounted(event.data)
      ? [countedConversion(partsOf(event), visits.get(event.stream))]
      : [],
  );
  await takeAttributions(tx, conversions);
}

function partsOf({ position, site, time, data, personal }: StoredEvent<typeof RECEIVED>) {
  return { position, site, timeMs: Date.parse(time), data, personal };
}

async function foldDeliveries(page: Page): Promise<void> {
  const rows: object[] = [];
  for (const { type, site, minute, values, count } of (await page.reduce(OUTCOMES)).counts()) {
    const [platform, nextTry, uncounted] = values;
    // Before the last status request it is not known whether the conversion counts.
    if (nextTry !== null || uncounted !== null) continue;
    const column = COLUMN_OF_OUTCOME[type as keyof typeof COLUMN_OF_OUTCOME];
    rows.push({ site, quarter: quarterOf(minute), platform, [column]: count });
  }
  rows.push(...(await page.reduce(EXPIRED)));
  const names = [...Object.values(COLUMN_OF_OUTCOME), 'expired'];
  const columns = Object.fromEntries(names.map((column) => [column, 'bigint' as const]));
  await addToRows(page.tx, 'delivery_statistics', { ...IN_QUARTER, platform: 'text' }, columns, rows);
}

async function foldRefusals(page: Page): Promise<void> {
  const refusals = await page.reduce(REFUSALS);
  const rows = refusals.map(({ site, time, data }) => {
    return { site, quarter: quarterOf(Date.parse(time)), refused: data.count };
  });
  await addToRows(page.tx, 'refusal_statistics', IN_QUARTER, { refused: 'bigint' }, rows);
}
