import type { ConversionData, SentIdentifiers } from '../events/conversion.events.js';
import { traceFields } from '../kernel/traceparent.js';
import type { StoredEvent } from '../log/event.js';
import type { Manifest } from '../platforms/manifest.js';
import type { TraceSpan } from '../tracing/tracing.js';
import type { DeliveryAge } from './retry-schedule.js';

/** A conversion or correction of an order, with its stream. */
export interface OrderEntry {
  readonly opening: Pick<StoredEvent<'conversion.received.v1'>, 'position' | 'time' | 'data'>;
  /** Without personal parts. */
  readonly events: readonly StoredEvent[];
}

/** What the log contains about the order of a correction, besides personal data. */
export interface OrderHistory {
  /** The conversion that is corrected; undefined if none was received before the correction. */
  readonly conversion?: OrderEntry | undefined;
  /** All corrections of the order, in log order. */
  readonly corrections: readonly OrderEntry[];
  /** A conversion of the order was filtered before the correction. */
  readonly isFiltered?: boolean;
  readonly isTooLarge?: boolean;
}

/** The part of a `conversion.received.v1` event that a delivery needs. */
export type ReceivedConversion = Pick<
  StoredEvent<'conversion.received.v1'>,
  'site' | 'position' | 'time' | 'data' | 'personal'
> & {
  /** Order of a correction, see `read-order.ts`. */
  readonly order?: OrderHistory;
  /** Span of the request that brought it, in the process that received it. */
  readonly span?: TraceSpan | undefined;
};

export function traceFieldsOf({ span, personal }: ReceivedConversion): object {
  return traceFields(span?.traceparent ?? personal?.traceparent);
}

/**
 * The event id that a platform gets, unless an operator forces another one. Several corrections can have one order. Where a pixel
 * reports the event too, it has the pixel's id; elsewhere the order identifies it, also for its corrections.
 */
export function eventIdOf(
  { orderId, conversionId, correction, eventId }: ConversionData,
  platform: Pick<Manifest, 'deduplicatesPixel'> | undefined,
): string {
  if (correction) return conversionId;
  return (platform?.deduplicatesPixel ? eventId : undefined) ?? orderId ?? conversionId;
}

/** When it occurred, as its sender states, otherwise when it was received. A sender's clock that is ahead does not count. */
export function occurredMsOf({ time, data }: Pick<ReceivedConversion, 'time' | 'data'>): number {
  const receivedMs = Date.parse(time);
  return data.occurredAt === undefined ? receivedMs : Math.min(Date.parse(data.occurredAt), receivedMs);
}

export function ageOf(received: ReceivedConversion): DeliveryAge {
  if (lastAge?.received !== received) {
    const age = {
      receivedMs: Date.parse(received.time),
      occurredMs: occurredMsOf(received),
      unknownSinceMs: undefined,
    };
    lastAge = { received, age };
  }
  return lastAge.age;
}

/** The last one is kept: the platforms of a conversion ask for it one after the other. */
let lastAge: { readonly received: ReceivedConversion; readonly age: DeliveryAge } | undefined;

/** The conversion with the visit and consent of the `conversion.reopened.v1` event that has this version in its stream. */
export function withReopenedVisit(
  received: ReceivedConversion,
  events: readonly StoredEvent[],
  version: number | undefined,
): ReceivedConversion {
  const reopened = version === undefined ? undefined : events.find((event) => event.version === version);
  if (reopened?.type !== 'conversion.reopened.v1') return received;
  const { consent } = reopened.data;
  const visit = reopened.personal?.visit;
  const personal = received.personal && visit ? { ...received.personal, visit } : received.personal;
  return { ...received, data: { ...received.data, consent }, personal };
}

const NOTHING_SENT: { readonly [Name in keyof SentIdentifiers]-?: undefined } = {
  clickIds: undefined,
  ipAddress: undefined,
  userAgent: undefined,
  pageUrl: undefined,
  referrer: undefined,
  cookies: undefined,
  utm: undefined,
};

/** The conversion as it would have been decided after an opt-out of the person. */
export function withOptOut(received: ReceivedConversion): ReceivedConversion {
  const { personalization: _, ...decided } = received.data;
  const data = { ...decided, consent: 'denied', withheld: 'opted_out' } as const;
  if (!received.personal) return { ...received, data };
  const { visit: __, ...personal } = received.personal;
  return {
    ...received,
    data,
    personal: { ...personal, ...NOTHING_SENT },
  };
}
