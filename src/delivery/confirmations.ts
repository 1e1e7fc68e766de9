import { Inject, Injectable } from '@nestjs/common';
import { isCounted } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { isRequestId, shorten } from '../platforms/common-verdict.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { asOfIn } from '../sites/connections/connection.js';
import { AccessTokens } from './connections/access-tokens.js';
import { Connections } from './connections/connections.js';
import { PlatformClient } from './connections/platform-client.js';
import { digestWithout } from './decide-attempt.js';
import type { DueDelivery } from './deliveries.projection.js';
import { IDENTIFIER_REFUSED, isoTime, type OutcomeDetails } from './delivery.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import type { ReceivedConversion } from './received-conversion.js';

const DAY_MS = 86_400_000;
/** Conversions that shared a request share its request id, and one status request. */
const CACHE_MS = 10_000;

export interface ConfirmationRequest {
  readonly due: DueDelivery;
  readonly received: ReceivedConversion;
  readonly attempt: number;
}

/** Requests the status of conversions that a platform has accepted but not yet confirmed. */
@Injectable()
export class Confirmations {
  private readonly cache = new Map<string, { readonly since: number; readonly details: Promise<OutcomeDetails> }>();

  constructor(
    private readonly connections: Connections,
    private readonly tokens: AccessTokens,
    private readonly client: PlatformClient,
    private readonly metrics: DeliveryMetrics,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async confirm({ due, received, attempt }: ConfirmationRequest): Promise<Outcome> {
    const { platform, site } = due;
    const { bodySha256, eventId, siteVersion, settings, payloadVersion, reopened, without, requestId } = due.details;
    const { conversionId } = received.data;
    const uncounted = isCounted(received.data) ? undefined : true;
    const status = await this.statusOf(site, platform, requestId as string);
    const details = this.withoutRefused({ due, received, attempt }, status);
    const isLate = this.clock.nowMs() - Date.parse(received.time) > DAY_MS;
    // Platforms do not confirm after a day: accepted is then final.
    const nextTry = isLate && details.status === 'accepted' ? undefined : details.nextTry;
    // The platform accepted it once, and may count it: when it is sent again, it stays bound to that account.
    const { unknownSince = details.unknown ? received.time : undefined } = due.details;
    const sent = { bodySha256, eventId, siteVersion, settings, payloadVersion, reopened, without, unknownSince };
    const outcome = { conversionId, platform, attempt, ...sent, ...details, nextTry, uncounted } as const;
    this.metrics.count(outcome);
    return outcome;
  }

  /** If identifiers were refused, the conversion is sent again without them, as after a refusal in the answer to an attempt. */
  private withoutRefused({ due, received, attempt }: ConfirmationRequest, details: OutcomeDetails): OutcomeDetails {
    if (!details.without) return details;
    const { without: identifiers, ...refused } = details;
    const { platform, details: sent } = due;
    const destination = this.connections.find(due.site, platform);
    const terms = { received, platform, attempt, ...sent, asOf: asOfIn(sent) };
    const bodySha256 = destination && digestWithout(terms, destination, identifiers, sent.bodySha256);
    if (bodySha256 === undefined) return refused;
    const again = { status: 'deferred', reason: IDENTIFIER_REFUSED, unknown: false } as const;
    return { ...refused, ...again, without: identifiers, bodySha256, nextTry: isoTime(this.clock.nowMs()) };
  }

  private statusOf(site: string, platform: ConnectionName, requestId: string): Promise<OutcomeDetails> {
    const now = performance.now();
    // Shorter than the time to the next status request: an answer from the cache must not schedule it in the past.
    const cacheMs = Math.min(CACHE_MS, this.settings.confirmationPollMs / 2);
    for (const [key, { since }] of this.cache) if (now - since > cacheMs) this.cache.delete(key);
    const key = `${site} ${platform} ${requestId}`;
    const cached = this.cache.get(key);
    if (cached) return cached.details;
    const details = this.requestStatus(site, platform, requestId);
    this.cache.set(key, { since: now, details });
    return details;
  }

  private async requestStatus(site: string, name: ConnectionName, requestId: string): Promise<OutcomeDetails> {
    const destination = this.connections.find(site, name);
    const confirmation = destination?.platform.confirmation;
    // Earlier versions stored some ids only in part.
    if (!confirmation || !isRequestId(requestId)) return { status: 'accepted', requestId };
    const { platform, connection } = destination;
    const pollMs = this.settings.confirmationPollMs;
    const nowMs = this.clock.nowMs();
    const later: OutcomeDetails = { status: 'accepted', requestId, nextTry: isoTime(nowMs + pollMs) };
    const started = performance.now();
    try {
      const accessToken = await this.tokens.get({ site, name, platform }, connection);
      const request = confirmation.request(requestId, { connection, accessToken, nowMs });
      const response = await this.client.request(platform, request, connection);
      const verdict = confirmation.verdict(response);
      const call = { requestId, httpStatus: response.status, durationMs: Math.round(performance.now() - started) };
      switch (verdict.kind) {
        case 'delivered':
          return { ...call, status: 'confirmed' };
        case 'rejected':
          return { ...call, status: 'rejected', reason: shorten(verdict.reason) };
        case 'without':
          return { ...call, status: 'rejected', reason: shorten(verdict.reason), without: verdict.identifiers };
        case 'misconfigured':
          // The platform refused the conversion for something that a person can fix: it is sent again after that.
          await this.connections.park(site, name, shorten(verdict.reason));
          return { ...call, status: 'deferred', reason: 'authorization', unknown: false, nextTry: isoTime(nowMs) };
        case 'split':
          // Some conversions of the request count, and the response does not identify them: each is sent on its own.
          return {
            ...call,
            status: 'deferred',
            reason: 'pending',
            alone: true,
            unknown: true,
            nextTry: isoTime(nowMs),
          };
        case 'retry':
          // With a wait, the platform wants the conversion again, not another status request.
          if (verdict.afterMs === undefined) return { ...call, ...later };
          return {
            ...{ ...call, status: 'deferred', reason: 'pending', unknown: true },
            nextTry: isoTime(nowMs + verdict.afterMs),
          };
        default:
          return { ...call, ...later };
      }
    } catch {
      // Refused credentials park a connection when a delivery uses them. Here they only delay the confirmation.
      return later;
    }
  }
}
