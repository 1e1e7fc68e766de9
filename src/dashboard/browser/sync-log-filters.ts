import { SYNC_STATUSES, type SyncStatus } from '../../kernel/sync-statuses.js';
import { counted, formatNumber } from './format.js';
import { CONVERSION_ID, withQuery } from './navigation.js';
import { readTimes, type TimeFilter } from './time-filter.js';

export const KINDS = [
  ['delivery', 'Deliveries'],
  ['push', 'Pushes of totals'],
  ['inbound', 'Refused conversions'],
] as const;
export type Kind = (typeof KINDS)[number][0];

/** The filters of the sync log, as they are kept in the address. */
export interface SyncLogFilters extends TimeFilter {
  readonly connection?: string;
  readonly status?: SyncStatus;
  readonly kind?: Kind;
  readonly order?: string;
  readonly conversion?: string;
  readonly event?: string;
  /** A part of it. */
  readonly reason?: string;
}

/** An address may contain anything: what is no filter is left out. */
export function readFilters(query: Readonly<Record<string, string>>): SyncLogFilters {
  // Other pages link with the name of a platform, which is also that of its first connection.
  const { platform, connection = platform, order, conversion = '', event, reason } = query;
  const status = SYNC_STATUSES.find((known) => known === query['status']);
  const kind = KINDS.find(([known]) => known === query['kind'])?.[0];
  return {
    ...(connection && { connection }),
    ...(status && { status }),
    ...(kind && { kind }),
    ...(order && { order }),
    ...(CONVERSION_ID.test(conversion) && { conversion }),
    ...(event && { event }),
    ...(reason && { reason }),
    ...readTimes(query),
  };
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

export function hasFilters(filters: object): boolean {
  return Object.keys(filters).length > 0;
}

/** How many match, of which the shown ones are known. */
export function matchText(shown: number, hasMore: boolean, isFiltered: boolean, one = 'attempt'): string {
  if (shown === 0 && hasMore) return 'none found so far';
  const found = isFiltered ? `${formatNumber(shown)} ${shown === 1 ? 'matches' : 'match'}` : counted(shown, one);
  return `${hasMore ? 'at least ' : ''}${found}`;
}
