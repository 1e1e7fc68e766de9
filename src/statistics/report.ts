import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';
import { type Period, toQuarters } from './buckets.js';
import { DecimalSum } from './decimal-sum.js';
import { countDeliveries, type DeliveryCounts } from './series.js';
import { readSnapshot } from './snapshot.js';
import { readSources, type Sources } from './sources.js';
import type { CurrencyValue } from './totals.js';

export type ReportBy = 'campaign' | 'source' | 'platform' | 'event';

/** More groups are counted together. */
const GROUPS_MAX = 1_000;
/** Events per query. */
const PAGE_EVENTS = 20_000;

export interface ReportRow {
  /** What the row counts, by the names of the columns; null where a visit has none. */
  readonly group: Readonly<Record<string, string | null>>;
  readonly conversions: number;
  readonly values: readonly CurrencyValue[];
}

export interface PlatformRow extends DeliveryCounts {
  readonly platform: string;
}

interface ReportRequest {
  readonly sites: readonly string[];
  readonly period: Period;
  onProgress(events: number): void;
}

type Dependencies = { readonly postgres: Postgres; readonly log: EventLog };

/** Final outcomes of deliveries in a period. */
export async function reportPlatforms({ postgres }: Dependencies, request: ReportRequest): Promise<PlatformRow[]> {
  const { fromMs, toMs } = toQuarters(request.period);
  const { counts } = await readSnapshot(postgres, ['statistics'], async (client) => ({
    counts: await countDeliveries(client, request.sites, [fromMs, toMs]),
  }));
  return [...(counts.get(0) ?? [])].map(([platform, outcomes]) => ({ platform, ...outcomes }));
}

/** Conversions of a period, the largest groups first. */
export async function reportConversions(
  dependencies: Dependencies,
  by: Exclude<ReportBy, 'platform'>,
  request: ReportRequest,
): Promise<ReportRow[]> {
  if (by === 'event') return reportEvents(dependencies.log, request);
  const { sites, period } = request;
  return rowsOf(await readSources(dependencies.postgres, { sites, period, by, limit: GROUPS_MAX }), by);
}

/** What has no name is counted as well, so that the rows add up to the conversions of the period. */
function rowsOf({ items, other, notMatched, unknown }: Sources, by: 'campaign' | 'source'): ReportRow[] {
  const groupOf = (source: string | null, medium: string | null, campaign: string | null) =>
    by === 'campaign' ? { source, medium, campaign } : { source, medium };
  const unnamed = [
    { name: '(others)', ...other },
    { name: '(not matched)', ...notMatched },
    { name: '(not known any more)', conversions: unknown, values: [] },
  ].filter(({ conversions }) => conversions > 0);
  return [
    ...items.map(({ source, medium, campaign, conversions, values }) => ({
      group: groupOf(source, medium, campaign),
      conversions,
      values,
    })),
    ...unnamed.map(({ name, conversions, values }) => ({ group: groupOf(name, null, null), conversions, values })),
  ];
}

/** From the log: the statistics do not have the names of events, of which a sender may invent any number. */
async function reportEvents(log: EventLog, { sites, period, onProgress }: ReportRequest): Promise<ReportRow[]> {
  const { fromMs, toMs } = toQuarters(period);
  const sums = new EventSums();
  let read = 0;
  for (const site of sites) {
    const until = await log.positionBefore(new Date(toMs), site);
    for (let at = await log.positionBefore(new Date(fromMs), site); at < until; ) {
      const end = Math.min(await log.pageEnd(at, PAGE_EVENTS), until);
      if (end === at) break;
      for (const { data } of await log.read({ after: at, until: end, site, types: ['conversion.received.v1'] })) {
        read += 1;
        if (!data.trial && !data.correction) sums.add(data.event, data.currency, data.value ?? 0);
      }
      onProgress(read);
      at = end;
    }
  }
  return sums.rows();
}

class EventSums {
  private readonly byEvent = new Map<string, Map<string, { conversions: number; readonly value: DecimalSum }>>();

  add(event: string, currency: string, value: number): void {
    const currencies = this.byEvent.get(event) ?? new Map();
    this.byEvent.set(event, currencies);
    const sum = currencies.get(currency) ?? { conversions: 0, value: new DecimalSum() };
    currencies.set(currency, sum);
    sum.conversions += 1;
    sum.value.add(value);
  }

  rows(): ReportRow[] {
    return [...this.byEvent]
      .map(([event, currencies]) => {
        const values = [...currencies].map(([currency, { conversions, value }]) => ({
          currency,
          conversions,
          value: Math.min(
            value.parts().reduce((sum, part) => sum + Number(part), 0),
            Number.MAX_VALUE,
          ),
        }));
        return { group: { event }, conversions: values.reduce((sum, { conversions }) => sum + conversions, 0), values };
      })
      .sort((one, other) => other.conversions - one.conversions || (one.group.event < other.group.event ? -1 : 1));
  }
}
