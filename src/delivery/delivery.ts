import type { StoredEvent } from '../log/event.js';
import type { Conversion } from '../platforms/conversion.js';
import type { PlatformName, RetryReason } from '../platforms/platform.js';

/** Streams of this category hold a conversion and all that became of it. */
export const CONVERSION = 'conversion';

export type DeferReason = RetryReason | 'authorization' | 'paused' | 'circuit_open' | 'pending';

/** One try to deliver a conversion to a platform, and what came of it: the data of an outcome event. */
export interface Outcome {
  readonly conversionId: string;
  readonly platform: PlatformName;
  /** Counts every outcome of this conversion at this platform, from 1. */
  readonly attempt: number;
  readonly status: OutcomeStatus;
  readonly reason?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly httpStatus?: number | undefined;
  /** The platform's own. */
  readonly requestId?: string | undefined;
  /** Of the payload as it was, or would have been, sent: every attempt carries the same. */
  readonly bodySha256?: string | undefined;
  /** What the platform answered, shortened, without anything personal. */
  readonly response?: string | undefined;
  /** ISO time. Of a deferred one: the next try. Of an accepted one: when the platform is asked what became of it. */
  readonly nextTry?: string | undefined;
  /** The next try goes in a call of its own, so that the answer is about it alone. */
  readonly alone?: boolean | undefined;
  /** Under which the platform knows it, where an operator sent it again on purpose. */
  readonly eventId?: string | undefined;
  /** As of which position its settings count, where an operator asked for it. */
  readonly settings?: number | undefined;
  /** The version of the event in its stream that brought the visit, where that was identified later. */
  readonly reopened?: number | undefined;
}

/** An outcome without what names it. */
export type Words = Pick<Outcome, 'status'> & Partial<Outcome>;

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export type OutcomeStatus =
  /** The platform took it. */
  | 'delivered'
  /** It took the call, and says later or never. */
  | 'accepted'
  /** It said later that it counts, or that it does not. */
  | 'confirmed'
  | 'rejected'
  /** Not sent, for a reason that will not change by itself. */
  | 'skipped'
  /** Will be tried again. */
  | 'deferred'
  /** Final. */
  | 'failed'
  /** Trial key: built and checked, nothing sent. */
  | 'validated';

export type OutcomeType = `conversion.${OutcomeStatus}.v1`;

export function outcomeType(status: OutcomeStatus): OutcomeType {
  return `conversion.${status}.v1`;
}

/** An operator wants it sent (again): with its own id when the platform has not taken it, with a new one by force. */
export interface SendRequest {
  readonly conversionId: string;
  readonly platform: PlatformName;
  readonly eventId?: string | undefined;
  /** How many there were before. */
  readonly attempt: number;
  /** Position of the site's newest event then: what is sent is built with the settings the operator sees. */
  readonly settings: number;
  readonly reopened?: number | undefined;
}

/** A visit was identified after its conversion: a platform that was skipped for want of an identifier is tried once more. */
export interface Reopening {
  readonly conversionId: string;
  readonly platform: PlatformName;
  /** How many there were before. */
  readonly attempt: number;
  /** Position of the event that brought the visit. */
  readonly by: number;
  readonly consent: Conversion['consent'];
  /** The day the conversion was received, where this is what first joins it to a visit: for the match rate. */
  readonly joins?: string;
  readonly trial: boolean;
}

/** What became of a conversion at one platform, as receipts show it. */
export interface PlatformResult {
  readonly ok: boolean;
  readonly status: 'delivered' | 'accepted' | 'skipped' | 'queued' | 'failed' | 'validated';
  readonly reason?: string;
  readonly trial?: true;
}

export type Results = Partial<Record<PlatformName, PlatformResult>>;

/** Where a delivery stands, folded from the events of its conversion. */
export interface Delivery {
  readonly platform: PlatformName;
  readonly attempts: number;
  /** The newest outcome; undefined before the first. */
  readonly last: Outcome | undefined;
  /** The id it goes out under: another one after an operator's force. */
  readonly eventId?: string | undefined;
  /** As of which position its settings count: another one after an operator's request. */
  readonly settings?: number | undefined;
  /** The version of the event that brought its visit: none where that came with the conversion. */
  readonly reopened?: number | undefined;
  /** Of its first sending: every further one must be the same. */
  readonly bodySha256?: string | undefined;
}

const OUTCOME = /^conversion\.(delivered|accepted|confirmed|rejected|skipped|deferred|failed|validated)\.v1$/;

export function isOutcome(event: Pick<StoredEvent, 'type'>): boolean {
  return OUTCOME.test(event.type);
}

/** The deliveries of one conversion, from its stream: one for each platform that was connected when it came in. */
export function foldDeliveries(events: readonly StoredEvent[]): Delivery[] {
  const deliveries = new Map<PlatformName, Delivery>();
  for (const event of events) {
    if (event.type === 'conversion.received.v1') {
      for (const platform of (event.data['platforms'] ?? []) as PlatformName[])
        deliveries.set(platform, { platform, attempts: 0, last: undefined });
    } else if (event.type === 'conversion.send_requested.v1') {
      const { platform, eventId, attempt, settings, reopened } = event.data as unknown as SendRequest;
      deliveries.set(platform, { platform, attempts: attempt, last: undefined, eventId, settings, reopened });
    } else if (event.type === 'conversion.reopened.v1') {
      const { platform, attempt } = event.data as unknown as Reopening;
      const { eventId, settings } = deliveries.get(platform) ?? {};
      const reopened = event.version;
      deliveries.set(platform, { platform, attempts: attempt, last: undefined, eventId, settings, reopened });
    } else if (isOutcome(event)) {
      const outcome = event.data as unknown as Outcome;
      const before = deliveries.get(outcome.platform);
      deliveries.set(outcome.platform, {
        platform: outcome.platform,
        attempts: outcome.attempt,
        last: outcome,
        eventId: before?.eventId,
        settings: before?.settings,
        reopened: before?.reopened,
        bodySha256: outcome.bodySha256 ?? before?.bodySha256,
      });
    }
  }
  return [...deliveries.values()];
}

export function resultOf(last: Pick<Outcome, 'status' | 'reason'> | undefined, trial: boolean): PlatformResult {
  const marked = trial ? ({ trial: true } as const) : {};
  const reason = last?.reason === undefined ? {} : { reason: last.reason };
  switch (last?.status) {
    case undefined:
      return { ok: false, status: 'queued', reason: 'pending', ...marked };
    case 'delivered':
    case 'confirmed':
      return { ok: true, status: 'delivered', ...marked };
    case 'accepted':
      return { ok: true, status: 'accepted', ...marked };
    case 'validated':
      return { ok: true, status: 'validated', ...marked };
    case 'skipped':
      return { ok: false, status: 'skipped', ...reason, ...marked };
    case 'deferred':
      return { ok: false, status: 'queued', ...reason, ...marked };
    case 'failed':
    case 'rejected':
      return { ok: false, status: 'failed', ...reason, ...marked };
  }
}

/** Today's results of a conversion, from its stream. */
export function resultsOf(events: readonly StoredEvent[]): Results {
  const trial = events[0]?.data['trial'] === true;
  const results: Results = {};
  for (const { platform, last } of foldDeliveries(events)) results[platform] = resultOf(last, trial);
  return results;
}
