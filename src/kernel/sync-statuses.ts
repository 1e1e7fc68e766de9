/** In the sync log, of attempts and of pushes. Refused conversions are `rejected`. Here, because the dashboard uses them, too. */
export const SYNC_STATUSES = [
  'delivered',
  'accepted',
  'confirmed',
  'rejected',
  'skipped',
  'deferred',
  'failed',
  'validated',
] as const;

export type SyncStatus = (typeof SYNC_STATUSES)[number];
