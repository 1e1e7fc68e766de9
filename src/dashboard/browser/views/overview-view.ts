import { sumValues } from '../../../kernel/decimal.js';
import { CLICK_TITLES } from '../../../platforms/click-ids.js';
import type { Schemas } from '../api.js';
import { counted, formatMoney, formatMoneyShort, formatNumber, formatShare } from '../format.js';

export type Totals = Schemas['SiteTotals'];
/** Totals of one site, or of several together. */
export type SummedTotals = Omit<Schemas['Totals'], 'site'>;
export type Series = Schemas['Series'];

const HOUR_MS = 3_600_000;
/** The unit in which numbers are stored. */
const QUARTER_MS = HOUR_MS / 4;

/** The periods that the overview offers, by their number of days. */
export const PERIODS = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
] as const;

export interface Period {
  readonly from: string;
  readonly to: string;
  readonly interval: 'hour' | 'day';
}

/**
 * The period until now, and the same hours of the days before to compare with. It begins with a whole hour or day of the
 * viewer's clock, as the chart does, so that the figures are the sums of what the chart shows. Unknown numbers of days are the
 * default.
 */
export function periodsOf(chosen: string | undefined, nowMs: number): { days: number; now: Period; before: Period } {
  const days = Number(PERIODS.find(([value]) => value === chosen)?.[0] ?? '7');
  const interval = days > 7 ? 'day' : 'hour';
  const start = new Date(nowMs);
  if (interval === 'hour') {
    // Not the hours of the date: a clock that is set back has one of them twice.
    const localMs = nowMs - start.getTimezoneOffset() * 60_000;
    start.setTime(nowMs - (localMs % HOUR_MS) - (days * 24 - 1) * HOUR_MS);
  } else {
    start.setHours(0, 0, 0, 0);
    start.setDate(start.getDate() - days + 1);
  }
  return {
    days,
    now: { from: start.toISOString(), to: new Date(nowMs).toISOString(), interval },
    // The service would add the rest of the last quarter of an hour, which has not happened yet in the period itself.
    before: { from: daysBefore(start, days), to: daysBefore(toQuarter(nowMs), days), interval },
  };
}

export function intervalTitle(interval: Period['interval'], zone: string): string {
  return `by the ${interval}, ${zone.replaceAll('_', ' ')}`;
}

/** The nearest quarter of an hour. */
function toQuarter(ms: number): Date {
  return new Date(Math.round(ms / QUARTER_MS) * QUARTER_MS);
}

/** The same time of the day, some days earlier. */
function daysBefore(time: Date, days: number): string {
  const earlier = new Date(time);
  earlier.setDate(earlier.getDate() - days);
  return earlier.toISOString();
}

export interface Change {
  readonly text: string;
  readonly direction: 'up' | 'down' | 'same';
}

/** By how much a number differs from the one before. Undefined if there was none to compare with. */
export function changeOf(now: number, before: number): Change | undefined {
  if (before === 0) return undefined;
  return toChange((now - before) / before, formatShare);
}

/** By how many percentage points a share differs. */
export function pointsOf(now: number | null, before: number | null): Change | undefined {
  if (now === null || before === null) return undefined;
  return toChange(now - before, (share) => `${formatNumber(Math.round(share * 1_000) / 10)} pt`);
}

function toChange(difference: number, format: (absolute: number) => string): Change {
  const text = format(Math.abs(difference));
  if (text === format(0)) return { text, direction: 'same' };
  return { text, direction: difference > 0 ? 'up' : 'down' };
}

type Counted = 'delivered' | 'accepted' | 'confirmed' | 'rejected' | 'failed' | 'skipped';

export interface PlatformRow {
  readonly platform: string;
  readonly accepted: number;
  readonly rejected: number;
  readonly failed: number;
  readonly skipped: number;
  /** Now, whatever the period. */
  readonly queued: number;
  /** Now: accepted by the platform, which has not said yet whether it counts them. */
  readonly unconfirmed: number;
  /** Null if nothing was sent. */
  readonly acceptance: number | null;
}

/** The outcomes of each connection in the whole period, as the API defines acceptance, and what waits. */
export function platformRows(
  { buckets }: Pick<Series, 'buckets'>,
  connected: readonly string[],
  waiting: readonly Schemas['WaitingDeliveries']['items'][number][],
): PlatformRow[] {
  const names = new Set([...connected, ...platformsOf({ buckets })]);
  return [...names].map((platform) => {
    const sum = (outcome: Counted) =>
      buckets.reduce((total, { platforms }) => total + (platforms[platform]?.[outcome] ?? 0), 0);
    const accepted = sum('delivered') + sum('accepted') + sum('confirmed');
    const [rejected, failed] = [sum('rejected'), sum('failed')];
    const sent = accepted + rejected + failed;
    const { queued = 0, unconfirmed = 0 } = waiting.find((one) => one.platform === platform) ?? {};
    return {
      ...{ platform, accepted, rejected, failed, skipped: sum('skipped'), queued, unconfirmed },
      acceptance: sent === 0 ? null : accepted / sent,
    };
  });
}

/** Whether the platform has reported on less than half of what it was sent: a share would say little. */
export function isOpen({ accepted, rejected, failed, unconfirmed }: PlatformRow): boolean {
  return unconfirmed > accepted + rejected + failed;
}

/** The share that the platform accepted; in numbers while it has reported on less than half. */
export function acceptanceText(row: PlatformRow): string {
  const { accepted, rejected, failed, unconfirmed, acceptance } = row;
  const refused = rejected + failed;
  if (!isOpen(row)) return acceptance === null ? 'nothing sent' : formatShare(acceptance);
  const sent = formatNumber(accepted + refused + unconfirmed);
  const open = `${formatNumber(unconfirmed)} not confirmed yet`;
  return refused > 0 ? `${formatNumber(refused)} of ${sent} refused, ${open}` : open;
}

/** The connections that have outcomes. */
function platformsOf({ buckets }: Pick<Series, 'buckets'>): string[] {
  return [...new Set(buckets.flatMap(({ platforms }) => Object.keys(platforms)))];
}

/** What conversions are grouped by. */
export const GROUPINGS = [
  ['source', 'Source'],
  ['campaign', 'Campaign'],
  ['click', 'Click'],
] as const;
export type Grouping = (typeof GROUPINGS)[number][0];

export function groupingOf(chosen: string | undefined): Grouping {
  return GROUPINGS.find(([name]) => name === chosen)?.[0] ?? 'source';
}

interface SourceRow {
  readonly title: string;
  readonly conversions: number;
  /** Values in the currency with the most conversions. */
  readonly value: Schemas['Totals']['values'][number] | undefined;
  /** It is a source, rather than what has none. */
  readonly isKnown: boolean;
  /** What the title means. */
  readonly hint?: string;
}

type SourceItem = Schemas['Sources']['items'][number];

/** The groups that have conversions, with those that are not a source of their own at the end. Together they are all conversions. */
export function sourceRows({ items, other, notMatched, unknown }: Schemas['Sources'], by: Grouping): SourceRow[] {
  const row = (title: string, group: typeof other, hint?: string): SourceRow => {
    const [value] = [...group.values].sort((one, another) => another.conversions - one.conversions);
    const isKnown = hint === undefined;
    return { title, conversions: group.conversions, value, isKnown, ...(hint !== undefined && { hint }) };
  };
  return [
    ...items.map((item) => row(sourceTitle(item, by), item)),
    row('(others)', other, 'All smaller ones together'),
    row('(not matched)', notMatched, 'No visit of the person is known'),
    row('(erased or expired)', { conversions: unknown, values: [] }, 'Data of the person is no longer stored'),
  ].filter(({ conversions }) => conversions > 0);
}

function sourceTitle({ source, medium, campaign, click }: SourceItem, by: Grouping): string {
  if (by === 'click') return click === null ? '(no ad click)' : `${CLICK_TITLES[click] ?? click} (${click})`;
  const name = [source ?? '(no source)', medium].filter(Boolean).join(' / ');
  return by === 'campaign' ? `${campaign ?? '(no campaign)'} · ${name}` : name;
}

/** The currency with the most conversions, and the others. */
export function valuesOf(values: Totals['values']): {
  main: Totals['values'][number] | undefined;
  others: Totals['values'];
} {
  const [main, ...others] = values.toSorted((one, other) => other.conversions - one.conversions);
  return { main, others };
}

/** Sums in a line, without more than two of them. They are not added: there is no rate to convert them with. */
export function valuesText(values: Totals['values'], shown = 2): string {
  const texts = values.slice(0, shown).map(({ value, currency }) => formatMoneyShort(value, currency));
  const more = values.length - shown;
  return [...texts, ...(more > 0 ? [counted(more, 'more currency', 'more currencies')] : [])].join(' + ');
}

/** All of them, exactly, a line each. */
export function exactValues(values: Totals['values']): string {
  return values.map(({ value, currency }) => formatMoney(value, currency)).join('\n');
}

const SUMMED = [
  ...(['conversions', 'matched', 'botTrafficRemoved', 'filtered'] as const),
  ...(['duplicates', 'changedDuplicates', 'refused', 'authenticationFailures'] as const),
];

/** The totals of several sites as those of one. */
export function sumTotals(items: Schemas['AllTotals']['items']): SummedTotals {
  const parts = items.flatMap((item) => item.values);
  const values = [...new Set(parts.map(({ currency }) => currency))].map((currency) => {
    const same = parts.filter((part) => part.currency === currency);
    return {
      currency,
      conversions: same.reduce((total, { conversions }) => total + conversions, 0),
      value: sumValues(same.map(({ value }) => value)),
    };
  });
  const sums = Object.fromEntries(
    SUMMED.map((name) => [name, items.reduce((total, item) => total + item[name], 0)]),
  ) as Record<(typeof SUMMED)[number], number>;
  const matchRate = sums.conversions === 0 ? null : sums.matched / sums.conversions;
  return { ...sums, matchRate, values };
}

/** The service counts up to this. */
const COUNTED_MAX = 10_000;

export function waitingText(count: number): string {
  return count >= COUNTED_MAX ? `${formatNumber(count)}+` : formatNumber(count);
}
