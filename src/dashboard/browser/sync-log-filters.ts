export const STATUSES = [
  'delivered',
  'accepted',
  'confirmed',
  'rejected',
  'skipped',
  'deferred',
  'failed',
  'validated',
] as const;

type Status = (typeof STATUSES)[number];

/** The filters of the sync log, as they are kept in the address. */
export interface SyncLogFilters {
  /** Name of a connection. */
  readonly platform?: string;
  readonly status?: Status | '';
}

export function readFilters(query: Readonly<Record<string, string>>): SyncLogFilters {
  const { platform } = query;
  const status = STATUSES.find((known) => known === query['status']);
  return { ...(platform && { platform }), ...(status && { status }) };
}

/** The address with a filter changed; an empty value removes it. */
export function withFilter(path: string, filters: SyncLogFilters, change: SyncLogFilters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, ...change })) if (value) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}
