import type { ConversionData } from '../events/conversion.events.js';
import { type Outcome, type OutcomeStatus, type OutcomeType } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { OptionalIdentifier } from '../platforms/optional-identifiers.js';
import type { RetryReason } from '../platforms/platform.js';
import { isUnknownOutcome } from '../platforms/unknown-outcome.js';

export type DeferReason = RetryReason | 'authorization' | 'paused' | 'circuit_open' | 'pending';

/** Deferred, to be sent again at once without what the platform refused. */
export const IDENTIFIER_REFUSED = 'identifier_refused';

/** An outcome without the fields that identify the delivery. */
export type OutcomeDetails = Omit<Outcome, 'conversionId' | 'platform' | 'attempt'>;

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function outcomeType(status: OutcomeStatus): OutcomeType {
  return `conversion.${status}.v1`;
}

/** The result of a conversion at one platform, as shown in receipts. */
export interface PlatformResult {
  readonly ok: boolean;
  readonly status: 'delivered' | 'accepted' | 'skipped' | 'queued' | 'failed' | 'validated';
  readonly reason?: string;
  readonly trial?: true;
}

/** By name of the connection. */
export type Results = Record<string, PlatformResult>;

/** What earlier attempts and requests of an operator determine about the next attempt. */
export interface DeliveryTerms {
  /** Event id sent to the platform, when an operator forced a new delivery. */
  readonly eventId?: string | undefined;
  /** Position as of which the settings of the newest payload apply, if they are not those of the receipt. */
  readonly settingsPosition?: number | undefined;
  /** Version of the payload, if an operator requested another one than that of the receipt. */
  readonly payloadVersion?: number | undefined;
  /** Version of the event that added the visit, when the visitor was identified after the conversion. */
  readonly reopened?: number | undefined;
  /** Identifiers that the platform refused, and that are left out since. */
  readonly without?: readonly OptionalIdentifier[] | undefined;
  /** Digest of the newest payload. */
  readonly bodySha256?: string | undefined;
  /**
   * ISO time of the first attempt that the platform may have accepted without saying so. The delivery is bound since then: every
   * later attempt sends the same payload to the same account. Otherwise retries use the current settings.
   */
  readonly unknownSince?: string | undefined;
}

/** The state of a delivery, folded from the events of its conversion. */
export interface Delivery extends DeliveryTerms {
  readonly platform: ConnectionName;
  readonly attempts: number;
  /** The newest outcome; undefined before the first. */
  readonly last: Outcome | undefined;
}

const OUTCOME = /^conversion\.(delivered|accepted|confirmed|rejected|skipped|deferred|failed|validated)\.v1$/;

export function isOutcome(event: StoredEvent): event is StoredEvent<OutcomeType> {
  return OUTCOME.test(event.type);
}

/** Folds a conversion's stream into its deliveries: one for each platform connected when the conversion was received. */
export function foldDeliveries(events: readonly StoredEvent[]): Delivery[] {
  const deliveries = new Map<ConnectionName, Delivery>();
  for (const event of events) {
    if (event.type === 'conversion.received.v1') {
      for (const platform of event.data.platforms ?? [])
        deliveries.set(platform, { platform, attempts: 0, last: undefined });
    } else if (event.type === 'conversion.send_requested.v1') {
      const { attempt: attempts, settings: settingsPosition, conversionId: _, ...request } = event.data;
      deliveries.set(request.platform, { ...request, attempts, last: undefined, settingsPosition });
    } else if (event.type === 'conversion.reopened.v1') {
      const { platform, attempt } = event.data;
      const { eventId, settingsPosition, payloadVersion } = deliveries.get(platform) ?? {};
      const sent = { eventId, settingsPosition, payloadVersion };
      deliveries.set(platform, { platform, attempts: attempt, last: undefined, ...sent, reopened: event.version });
    } else if (isOutcome(event)) {
      const outcome = event.data;
      const before = deliveries.get(outcome.platform);
      const { bodySha256, settings: settingsPosition } = outcome;
      const isUnknown = outcome.status === 'deferred' && isUnknownOutcome(outcome.unknown, outcome.reason ?? null);
      deliveries.set(outcome.platform, {
        platform: outcome.platform,
        attempts: outcome.attempt,
        last: outcome,
        eventId: before?.eventId,
        payloadVersion: before?.payloadVersion,
        reopened: before?.reopened,
        without: outcome.without ?? before?.without,
        // An outcome without a payload says nothing about what was sent before.
        ...(bodySha256 === undefined
          ? { bodySha256: before?.bodySha256, settingsPosition: before?.settingsPosition }
          : { bodySha256, settingsPosition }),
        unknownSince: outcome.unknownSince ?? before?.unknownSince ?? (isUnknown ? event.time : undefined),
      });
    }
  }
  return [...deliveries.values()];
}

const DELIVERED: PlatformResult = Object.freeze({ ok: true, status: 'delivered' });

export function resultOf(last: Pick<Outcome, 'status' | 'reason'> | undefined, trial: boolean): PlatformResult {
  // Shared and without spreads: this runs for every delivery.
  if (last?.status === 'delivered' && !trial) return DELIVERED;
  const trialField = trial ? ({ trial: true } as const) : {};
  const reason = last?.reason === undefined ? {} : { reason: last.reason };
  switch (last?.status) {
    case undefined:
      return { ok: false, status: 'queued', reason: 'pending', ...trialField };
    case 'delivered':
    case 'confirmed':
      return { ok: true, status: 'delivered', ...trialField };
    case 'accepted':
      return { ok: true, status: 'accepted', ...trialField };
    case 'validated':
      return { ok: true, status: 'validated', ...trialField };
    case 'skipped':
      return { ok: false, status: 'skipped', ...reason, ...trialField };
    case 'deferred':
      return { ok: false, status: 'queued', ...reason, ...trialField };
    case 'failed':
    case 'rejected':
      return { ok: false, status: 'failed', ...reason, ...trialField };
  }
}

/** In the order of the receipt, not in the order of arrival. */
export function currentResults(
  { platforms = [], trial }: Pick<ConversionData, 'platforms' | 'trial'>,
  outcomeOf: (platform: ConnectionName) => Pick<Outcome, 'status' | 'reason'> | undefined,
): Results {
  const results: Results = {};
  for (const platform of platforms) results[platform] = resultOf(outcomeOf(platform), trial);
  return results;
}

/** The current results of a conversion, from its stream. */
export function resultsOf(events: readonly StoredEvent[]): Results {
  const [first] = events;
  const trial = first?.type === 'conversion.received.v1' && first.data.trial;
  const results: Results = {};
  for (const { platform, last } of foldDeliveries(events)) results[platform] = resultOf(last, trial);
  return results;
}
