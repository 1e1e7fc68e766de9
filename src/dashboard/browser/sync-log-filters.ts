import { SYNC_STATUSES, type SyncStatus } from '../../kernel/sync-statuses.js';
import { formatNumber } from './format.js';
import { CONVERSION_ID, withQuery } from './navigation.js';

export const KINDS = [
  ['delivery', 'Deliveries'],
  ['push', 'Pushes of totals'],
  ['inbound', 'Refused conversions'],
] as const;
export type Kind = (typeof KINDS)[number][0];

/** Spans that end now, in hours. */
export const SPANS = [
  ['1h', 'Last hour', 1],
  ['24h', 'Last 24 hours', 24],
  ['7d', 'Last 7 days', 168],
  ['30d', 'Last 30 days', 720],
] as const;
type Span = (typeof SPANS)[number][0];

/** The filters of the sync log, as they are kept in the address. */
export interface SyncLogFilters {
  readonly connection?: string;
  readonly status?: SyncStatus;
  readonly kind?: Kind;
  readonly order?: string;
  readonly conversion?: string;
  readonly event?: string;
  /** A part of it. */
  readonly reason?: string;
  readonly span?: Span;
  /** Times, in place of a span. */
  readonly from?: string;
  readonly to?: string;
}

/** An address may contain anything: what is no filter is left out. */
export function readFilters(query: Readonly<Record<string, string>>): SyncLogFilters {
  // Other pages link with the name of a platform, which is also that of its first connection.
  const { platform, connection = platform, order, conversion = '', event, reason, from, to } = query;
  const status = SYNC_STATUSES.find((known) => known === query['status']);
  const kind = KINDS.find(([known]) => known === query['kind'])?.[0];
  const span = SPANS.find(([known]) => known === query['span'])?.[0];
  return {
    ...(connection && { connection }),
    ...(status && { status }),
    ...(kind && { kind }),
    ...(order && { order }),
    ...(CONVERSION_ID.test(conversion) && { conversion }),
    ...(event && { event }),
    ...(reason && { reason }),
    ...(span && { span }),
    ...(!span && isTime(from) && { from }),
    ...(!span && isTime(to) && { to }),
  };
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}

/** The address with filters changed; an empty value removes one. */
export function withFilter(
  path: string,
  filters: SyncLogFilters,
  change: Readonly<Partial<Record<keyof SyncLogFilters, string>>>,
): string {
  return withQuery(path, { ...filters, ...change });
}

/** A text that is searched for: the id of a conversion, or else of an order. */
export function searchOf(text: string): { conversion: string; order: string } {
  const trimmed = text.trim();
  return CONVERSION_ID.test(trimmed) ? { conversion: trimmed, order: '' } : { conversion: '', order: trimmed };
}

/** The query of the API. A span counts from the moment the page was opened or refreshed. */
export function queryOf(filters: SyncLogFilters, nowMs: number): Omit<SyncLogFilters, 'span'> {
  const { span, ...rest } = filters;
  const hours = SPANS.find(([known]) => known === span)?.[2];
  return hours === undefined ? rest : { ...rest, from: new Date(nowMs - hours * 3_600_000).toISOString() };
}

export function hasFilters(filters: SyncLogFilters): boolean {
  return Object.keys(filters).length > 0;
}

/** How many match, of which the shown ones are known. */
export function matchText(shown: number, hasMore: boolean, isFiltered: boolean): string {
  if (shown === 0 && hasMore) return 'none found so far';
  return `${hasMore ? 'at least ' : ''}${formatNumber(shown)} ${isFiltered ? (shown === 1 ? 'matches' : 'match') : shown === 1 ? 'attempt' : 'attempts'}`;
}
