import { isOutcome } from '../delivery/delivery.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { OutcomeType } from '../events/delivery.events.js';
import type { RejectedConversions } from '../events/inbound.events.js';
import type { FailedPushAttempt, ReportingWindow, Totals } from '../events/outbound.events.js';
import type { PositionRange, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';

/** Events per query, so that each query is short even when no event matches. */
const PAGE_EVENTS = 20_000;

export const ATTEMPT_TYPES = [
  'conversion.delivered.v1',
  'conversion.accepted.v1',
  'conversion.confirmed.v1',
  'conversion.rejected.v1',
  'conversion.skipped.v1',
  'conversion.deferred.v1',
  'conversion.failed.v1',
  'conversion.validated.v1',
  'outbound.delivered.v1',
  'outbound.failed.v1',
  'inbound.rejected.v1',
] as const;

/** One attempt to deliver a conversion or to push totals to the webhook, or the conversions that were refused for some time. */
export interface SyncLine {
  readonly time: string;
  readonly kind: 'delivery' | 'push' | 'inbound';
  readonly platform?: string;
  readonly conversionId?: string;
  readonly attempt: number;
  readonly status: string;
  readonly reason?: string;
  readonly httpStatus?: number;
  readonly durationMs: number;
  readonly nextTry?: string;
  /** Reporting window of a push. */
  readonly window?: Omit<ReportingWindow, 'body'>;
  readonly payload?: Totals;
  /** When the first of the refused conversions was refused. */
  readonly since?: string;
  readonly count?: number;
  readonly reasons?: RejectedConversions['reasons'];
  readonly sample?: RejectedConversions['sample'];
}

export interface SyncFilter extends PositionRange {
  readonly site: string;
  /** Only attempts to deliver these conversions. */
  readonly conversions?: readonly string[] | undefined;
  readonly platform?: string | undefined;
  readonly status?: string | undefined;
}

/** The queue of a connection may have millions of deliveries. */
export const QUEUED_MAX = 10_000;

interface QueuedRow {
  readonly conversion: string;
  readonly platform: string;
  readonly attempt: number;
  readonly reason: string | null;
  readonly due: Date;
  readonly time: Date;
}

/** Attempts per query, when the newest are looked for. */
const NEWEST_AT_ONCE = 500;

/** The newest so many, newest first. */
export async function readNewestSyncLines(log: EventLog, filter: SyncFilter, count: number): Promise<SyncLine[]> {
  const { site, after, conversions } = filter;
  if (conversions) return (await readOfConversions(log, conversions, filter)).reverse().slice(0, count);
  const found: SyncLine[] = [];
  for (let { until } = filter; found.length < count; ) {
    const events = await log.read({ after, until, site, types: ATTEMPT_TYPES, limit: NEWEST_AT_ONCE, newest: true });
    found.push(...linesOf(events, filter).reverse());
    if (events.length < NEWEST_AT_ONCE) break;
    until = (events[0] as StoredEvent).position - 1;
  }
  return found.slice(0, count);
}

/** In log order, one page in memory at a time. A page may be empty. */
export async function* readSyncLog(log: EventLog, filter: SyncFilter): AsyncGenerator<SyncLine[]> {
  const { site, after, until, conversions } = filter;
  if (conversions) {
    yield await readOfConversions(log, conversions, filter);
    return;
  }
  for (let at = after; at < until; ) {
    const end = Math.min(await log.pageEnd(at, PAGE_EVENTS), until);
    if (end === at) return;
    const events = await log.read({ after: at, until: end, site, types: ATTEMPT_TYPES });
    yield linesOf(events, filter);
    at = end;
  }
}

async function readOfConversions(log: EventLog, ids: readonly string[], filter: SyncFilter): Promise<SyncLine[]> {
  const events = (await log.readStreams(CONVERSION, ids)).filter(isOutcome);
  const within = events.filter(({ position }) => position > filter.after && position <= filter.until);
  return linesOf(
    within.sort((one, other) => one.position - other.position),
    filter,
  );
}

/** The deliveries of a site that wait for an attempt, the one that is due first first. `nextTry` is when it is due. */
export async function readQueuedLines(postgres: Postgres, { site, ...filter }: SyncFilter): Promise<SyncLine[]> {
  const { rows } = await postgres.pool.query<QueuedRow>(
    `SELECT d.conversion, d.platform, d.attempt, d.reason, d.due, e.time
       FROM cc.deliveries d JOIN cc.events e ON e.position = d.position
      WHERE d.site = $1 AND d.kind = 'send' AND d.position > $2 AND d.position <= $3
        AND ($4::text IS NULL OR d.platform = $4) AND ($5::uuid[] IS NULL OR d.conversion = ANY ($5))
      ORDER BY d.due, d.conversion, d.platform LIMIT ${QUEUED_MAX}`,
    [site, filter.after, filter.until, filter.platform ?? null, filter.conversions ?? null],
  );
  return rows.map(({ conversion, platform, attempt, reason, due, time }) => ({
    time: time.toISOString(),
    kind: 'delivery',
    platform,
    conversionId: conversion,
    attempt,
    status: 'queued',
    ...(reason !== null && { reason }),
    durationMs: 0,
    nextTry: due.toISOString(),
  }));
}

function linesOf(events: readonly Parameters<typeof lineOf>[0][], { platform, status }: SyncFilter): SyncLine[] {
  return events
    .map(lineOf)
    .filter((line) => platform === undefined || line.platform === platform)
    .filter((line) => status === undefined || line.status === status);
}

type PushOutcomeType = 'outbound.delivered.v1' | 'outbound.failed.v1';

export function lineOf(event: StoredEvent<OutcomeType | PushOutcomeType | 'inbound.rejected.v1'>): SyncLine {
  if (isOutcome(event)) return deliveryLine(event);
  return event.type === 'inbound.rejected.v1' ? rejectionLine(event) : pushLine(event);
}

/** Nothing was sent, so there is neither an attempt nor a duration. */
function rejectionLine({ time, data }: StoredEvent<'inbound.rejected.v1'>): SyncLine {
  return { time, kind: 'inbound', attempt: 0, status: 'rejected', durationMs: 0, ...data };
}

function deliveryLine({ time, data }: StoredEvent<OutcomeType>): SyncLine {
  const { platform, conversionId, attempt, status, reason, httpStatus, durationMs, nextTry } = data;
  return {
    time,
    kind: 'delivery',
    platform,
    conversionId,
    attempt,
    status,
    ...(reason !== undefined && { reason }),
    ...(httpStatus !== undefined && { httpStatus }),
    // Zero when nothing was sent.
    durationMs: durationMs ?? 0,
    ...(nextTry !== undefined && { nextTry }),
  };
}

function pushLine({ time, type, data }: StoredEvent<PushOutcomeType>): SyncLine {
  const { stretchId, fromPosition, toPosition, windowStart, windowEnd, body, attempt, durationMs, httpStatus } = data;
  const { reason, nextTry }: Partial<FailedPushAttempt> = type === 'outbound.failed.v1' ? data : {};
  return {
    time,
    kind: 'push',
    attempt,
    status: type === 'outbound.delivered.v1' ? 'delivered' : 'failed',
    ...(reason !== undefined && { reason }),
    ...(httpStatus !== undefined && { httpStatus }),
    durationMs,
    ...(nextTry !== undefined && { nextTry }),
    window: { stretchId, fromPosition, toPosition, windowStart, windowEnd },
    payload: body,
  };
}
