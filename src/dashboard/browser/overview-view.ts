import type { Schemas } from './api.js';
import { formatNumber, formatShare } from './format.js';
import { pathOf } from './navigation.js';

export type Totals = Schemas['SiteTotals'];
export type Series = Schemas['Series'];
export type AttentionItem = Schemas['AttentionItem'];

const DAY_MS = 86_400_000;

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

/** The days before now, and as many before them to compare with. Unknown numbers of days are the default. */
export function periodsOf(chosen: string | undefined, nowMs: number): { days: number; now: Period; before: Period } {
  const days = Number(PERIODS.find(([value]) => value === chosen)?.[0] ?? '7');
  const interval = days > 7 ? 'day' : 'hour';
  const between = (fromMs: number, toMs: number): Period => ({
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    interval,
  });
  const startMs = nowMs - days * DAY_MS;
  return { days, now: between(startMs, nowMs), before: between(startMs - days * DAY_MS, startMs) };
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
  /** Null if nothing was sent. */
  readonly acceptance: number | null;
}

/** The outcomes of each connection in the whole period, as the API defines acceptance. */
export function platformRows({ buckets }: Pick<Series, 'buckets'>, connected: readonly string[]): PlatformRow[] {
  const names = new Set([...connected, ...buckets.flatMap(({ platforms }) => Object.keys(platforms))]);
  return [...names].map((platform) => {
    const sum = (outcome: Counted) =>
      buckets.reduce((total, { platforms }) => total + (platforms[platform]?.[outcome] ?? 0), 0);
    const accepted = sum('delivered') + sum('accepted') + sum('confirmed');
    const [rejected, failed] = [sum('rejected'), sum('failed')];
    const sent = accepted + rejected + failed;
    return {
      platform,
      accepted,
      rejected,
      failed,
      skipped: sum('skipped'),
      acceptance: sent === 0 ? null : accepted / sent,
    };
  });
}

/** What needs attention, by what it is about. */
export function attentionTitle({ kind }: Pick<AttentionItem, 'kind'>, subject: string): string {
  const titles: Readonly<Record<AttentionItem['kind'], string>> = {
    connection_parked: `${subject} needs attention`,
    connection_paused: `${subject} is paused`,
    deliveries_owed: `Deliveries to ${subject} are late`,
    deliveries_failing: `${subject} refuses conversions`,
    webhook_disabled: 'The webhook is disabled',
    webhook_failing: 'The webhook does not accept pushes',
    key_expiring: 'A key expires',
    token_expiring: 'A token expires',
    certificate_expiring: 'The certificate expires',
    projection_parked: 'A projection has stopped',
    projection_lagging: 'A projection is behind',
  };
  return titles[kind] ?? kind;
}

/** The page on which a person does something about it. Undefined if none does. */
export function attentionPath({ kind, site, platform }: AttentionItem): string | undefined {
  if (kind === 'token_expiring') return '/settings/tokens';
  if (site === undefined) return undefined;
  if (kind === 'deliveries_failing') return `${pathOf(site, 'sync-log')}?platform=${platform}`;
  if (platform !== undefined) return pathOf(site, 'integrations');
  if (kind.startsWith('webhook')) return pathOf(site, 'webhook');
  return kind === 'key_expiring' ? pathOf(site, 'keys') : undefined;
}

export interface SourceRow {
  readonly title: string;
  readonly conversions: number;
  /** Of the currency with the most conversions. */
  readonly value: Schemas['Totals']['values'][number] | undefined;
  readonly isMatched: boolean;
}

/** The groups that have conversions, with those that are not a source of their own at the end. */
export function sourceRows({ items, other, notMatched, unknown }: Schemas['Sources']): SourceRow[] {
  const row = (title: string, group: typeof other, isMatched: boolean): SourceRow => {
    const [value] = [...group.values].sort((one, another) => another.conversions - one.conversions);
    return { title, conversions: group.conversions, value, isMatched };
  };
  return [
    ...items.map((item) => row([item.source ?? '(no source)', item.medium].filter(Boolean).join(' / '), item, true)),
    row('(other sources)', other, true),
    row('(not matched)', notMatched, false),
    row('(erased or expired)', { conversions: unknown, values: [] }, false),
  ].filter(({ conversions }) => conversions > 0);
}
