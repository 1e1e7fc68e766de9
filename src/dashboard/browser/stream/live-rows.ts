import type { EventType, Schemas } from '../api.js';
import type { SyncLogFilters } from '../sync-log-filters.js';
import type { Conversion } from '../views/conversions-view.js';
import { conversionIdOf, type LiveEvent, typesOf } from './live-events.js';

type SyncLine = Schemas['SyncLine'];
type RowEvent = Pick<LiveEvent, 'type' | 'data' | 'position' | 'time'>;

const OUTCOMES: readonly EventType[] = [
  'conversion.delivered.v1',
  'conversion.accepted.v1',
  'conversion.confirmed.v1',
  'conversion.rejected.v1',
  'conversion.skipped.v1',
  'conversion.deferred.v1',
  'conversion.failed.v1',
  'conversion.validated.v1',
];

/** Which events add a row to a list, and which change the rows of their conversion. */
export const ADDING = {
  conversions: typesOf('conversions') ?? [],
  syncLog: [...OUTCOMES, 'outbound.delivered.v1', 'outbound.failed.v1', 'inbound.rejected.v1'],
} as const satisfies Readonly<Record<string, readonly EventType[]>>;

export const CHANGING_ROWS = {
  conversions: typesOf('deliveries') ?? [],
  syncLog: OUTCOMES,
} as const satisfies Readonly<Record<string, readonly EventType[]>>;

/** The conversion after an event of one of its deliveries: the last outcome, or `queued` once it was requested again. */
export function changedConversion(conversion: Conversion, { type, data }: RowEvent): Conversion {
  const { platform, reason } = data as { platform: string; reason?: string };
  const status = (OUTCOMES as readonly string[]).includes(type) ? (data['status'] as string) : 'queued';
  const state = { platform, status, ...(reason !== undefined && { reason }) };
  const { deliveries } = conversion;
  const isKnown = deliveries.some((delivery) => delivery.platform === platform);
  return {
    ...conversion,
    deliveries: isKnown
      ? deliveries.map((delivery) => (delivery.platform === platform ? state : delivery))
      : [...deliveries, state],
  };
}

const UNRESOLVED: readonly string[] = ['failed', 'rejected', 'skipped', 'deferred'];
const ACCEPTED: readonly string[] = ['delivered', 'accepted', 'confirmed'];

/** The attempt after a later one of its delivery, which resolves it if the platform accepted that. */
export function changedLine(line: SyncLine, { data, position, time }: RowEvent): SyncLine {
  if (line.platform !== data['platform'] || position <= line.position || !UNRESOLVED.includes(line.status)) return line;
  const status = data['status'] as string;
  const { resolved: _, ...unresolved } = line;
  return ACCEPTED.includes(status) ? { ...unresolved, resolved: { time, status } } : unresolved;
}

/**
 * Whether the attempt that an event is may match the filters. It names neither the order nor the event of its conversion: of those,
 * only attempts of conversions that are listed.
 */
export function mayMatchAttempt(
  event: Pick<RowEvent, 'type' | 'data'>,
  { connection, status, kind, order, conversion, event: name, reason, to }: SyncLogFilters,
  isListed: (conversionId: string) => boolean,
): boolean {
  const { type, data } = event;
  const [category, outcome] = type.split('.');
  const ownKind = category === 'conversion' ? 'delivery' : category === 'outbound' ? 'push' : 'inbound';
  const id = conversionIdOf(event);
  if (to !== undefined || (kind ?? ownKind) !== ownKind || (status ?? outcome) !== outcome) return false;
  if (connection !== undefined && data['platform'] !== connection) return false;
  if (conversion !== undefined && id !== conversion) return false;
  if ((order ?? name) !== undefined && (id === undefined || !isListed(id))) return false;
  return reason === undefined || reasonOf(data).includes(reason.toLowerCase());
}

function reasonOf({ reason, reasons, httpStatus }: RowEvent['data']): string {
  const status = httpStatus === undefined ? '' : `HTTP ${httpStatus}`;
  return [reason, ...Object.keys(reasons ?? {}), status].join('\n').toLowerCase();
}
