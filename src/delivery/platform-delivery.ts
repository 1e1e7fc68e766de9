import { Inject, Injectable } from '@nestjs/common';
import { isCounted } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { subjectOfPerson } from '../events/person-keys.js';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { OptionalIdentifier } from '../platforms/optional-identifiers.js';
import type { Platform } from '../platforms/platform.js';
import type { SettingsAsOf } from '../sites/connections/connection.js';
import { isHeld } from '../sites/site.js';
import { type TraceSpan, Tracing } from '../tracing/tracing.js';
import { AccessTokens } from './connections/access-tokens.js';
import { Connections, type Destination } from './connections/connections.js';
import { PlatformClient } from './connections/platform-client.js';
import {
  type AttemptTerms,
  attemptUntilMs,
  DISCONNECTED,
  decideAttempt,
  digestWithout,
  GAVE_UP,
  isOfEarlierSite,
  recordedAsOf,
  unknownSinceOf,
} from './decide-attempt.js';
import { type Decided, FIND_CHANGES, type FindChanges } from './decided.js';
import { IDENTIFIER_REFUSED, isoTime, type OutcomeDetails } from './delivery.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { type AttemptResult, DestinationQueue, type QueuedDelivery } from './destination-queue.js';
import type { DeliveryPayload } from './payload/payload.js';
import { traceFieldsOf, withOptOut } from './received-conversion.js';
import { nextAttemptMs, type RetryRules } from './retry-schedule.js';
import { enqueueParts } from './several-actions.js';

/** Delay where the retry schedule does not apply: the queue is full, or the connection is parked or paused. */
const HELD_DELAY_MS = 5_000;

/** One attempt to deliver one conversion through one connection. */
export interface DeliveryRequest extends AttemptTerms {
  readonly alone?: boolean;
  readonly probe?: boolean;
  /** When the conversion was decided on the person's newest consent, by the monotonic clock; undefined: some time ago. */
  readonly decidedMs?: number | undefined;
  /** False once this process may no longer act for the conversion. */
  readonly mayDeliver: () => boolean;
}

/** Delivers conversions to platforms: checks preconditions, builds the payload, enqueues it and reports the outcome. */
@Injectable()
export class PlatformDelivery {
  /** By host, then by connection. */
  private readonly queues = new Map<string, Map<ConnectionName, DestinationQueue>>();
  private readonly rules: RetryRules;

  constructor(
    private readonly connections: Connections,
    private readonly tokens: AccessTokens,
    private readonly client: PlatformClient,
    private readonly metrics: DeliveryMetrics,
    private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly tracing: Tracing,
    @Inject(FIND_CHANGES) private readonly findChanges: FindChanges,
  ) {
    this.rules = { scheduleMs: settings.deliveryRetryScheduleMs, giveUpMs: settings.deliveryGiveUpMs };
  }

  /** The outcome, or undefined if this process may no longer act for the conversion. */
  async deliver(request: DeliveryRequest): Promise<Outcome | undefined> {
    const destination = this.destinationOf(request);
    const span = this.startSpan(request);
    const finish = (details: OutcomeDetails) => {
      const outcome = toOutcome(request, details, recordedAsOf(request, destination));
      this.metrics.count(outcome);
      if (span) endSpan(span, outcome);
      return outcome;
    };
    if (!destination) return finish(DISCONNECTED);
    const payload = this.preparePayload(request, destination);
    if ('status' in payload) return finish(payload);
    const result = await this.send(request, destination, payload, span?.traceparent);
    if (result.status === 'withdrawn' || result.status === 'opted_out' || result.status === 'erased') {
      span?.end({ 'cc.status': result.status });
      return result.status === 'withdrawn' ? undefined : this.deliver(this.afterChange(request, result, payload));
    }
    return finish(this.toDetails(result, payload, request, destination));
  }

  private send(
    request: DeliveryRequest,
    destination: Destination,
    payload: DeliveryPayload,
    traceparent: string | undefined,
  ): Promise<AttemptResult> {
    const { received, unknownSince, alone = false, probe = false, mayDeliver } = request;
    const { personal } = received;
    const queue = this.queueOf(destination);
    return new Promise((done) => {
      const queued: QueuedDelivery = {
        payload,
        bound: unknownSince !== undefined,
        alone,
        probe,
        mayDeliver,
        decided: decidedOf(request, destination),
        personal,
        traceparent: payload.isAnonymous ? undefined : (traceparent ?? personal?.traceparent),
        done,
      };
      if (payload.parts) enqueueParts(queue, queued, payload.parts);
      else queue.enqueue(queued);
    });
  }

  /** Undefined if it is not connected, also because the conversion is of an earlier site with the host. */
  private destinationOf({ received, platform }: DeliveryRequest): Destination | undefined {
    const found = this.connections.find(received.site, platform);
    return found && isOfEarlierSite(received, found.site) ? undefined : found;
  }

  /** The same attempt for a person who has opted out or was erased. If the platform may have accepted it before, it stays bound to that. */
  private afterChange(
    request: DeliveryRequest,
    { status, unknown }: AttemptResult,
    payload: DeliveryPayload,
  ): DeliveryRequest {
    const sent = {
      unknownSince: unknownSinceOf(request) ?? isoTime(this.clock.nowMs()),
      bodySha256: payload.bodySha256,
    };
    if (status === 'erased')
      return { ...request, received: { ...request.received, personal: null }, ...(unknown && sent) };
    return { ...request, received: withOptOut(request.received), optedOut: true, ...(unknown && sent) };
  }

  /** A child of the request in the process that received it; later attempts only have the sender's trace from the log. */
  private startSpan({ received, platform, attempt }: DeliveryRequest): TraceSpan | undefined {
    if (!this.tracing.isOn) return undefined;
    const { conversionId } = received.data;
    const attributes = {
      'cc.site': received.site,
      'cc.platform': platform,
      'cc.attempt': attempt,
      'cc.conversion_id': conversionId,
    };
    const start = { name: `deliver ${platform}`, kind: 'client', attributes } as const;
    return received.span?.child(start) ?? this.tracing.start(start, received.personal?.traceparent);
  }

  /** As `Connections` knows it. */
  actsFor(site: string): boolean {
    return this.connections.actsFor(site);
  }

  hasLeft(site: string): boolean {
    return this.connections.hasLeft(site);
  }

  closedSites(): string[] {
    return this.connections.closedSites();
  }

  /** How many more deliveries the connection's queue can accept now. */
  capacity(site: string, name: ConnectionName): number {
    const destination = this.connections.find(site, name);
    // A delivery to a disconnected platform fails without a request.
    return destination ? this.queueOf(destination).capacity : 1;
  }

  isParked(site: string, name: ConnectionName): boolean {
    const destination = this.connections.find(site, name);
    return destination?.siteConnection.state === 'parked' && !isHeld(destination.site);
  }

  tick(): void {
    for (const queues of this.queues.values()) for (const queue of queues.values()) queue.tick();
  }

  /** The payload, or the outcome if nothing is to be sent. */
  private preparePayload(request: DeliveryRequest, destination: Destination): DeliveryPayload | OutcomeDetails {
    const { bodySha256 } = request;
    try {
      const decision = decideAttempt(request, destination, this.clock.nowMs(), this.rules);
      if (!('waitMs' in decision)) return decision;
      return this.deferred(request, destination, { reason: 'order_pending', bodySha256 }, decision.waitMs);
    } catch (error) {
      // A bug in the service must not lose the delivery: it is retried, possibly by a version that has the fix.
      this.logError(error, traceFieldsOf(request.received));
      return this.deferred(request, destination, { reason: 'server_error', bodySha256 });
    }
  }

  private toDetails(
    result: AttemptResult,
    { bodySha256 }: DeliveryPayload,
    request: DeliveryRequest,
    destination: Destination,
  ): OutcomeDetails {
    const { status, reason, durationMs, httpStatus, requestId, response, unknown } = result;
    const isUnknown = unknown === true;
    const details = {
      status: status === 'delivered' || status === 'accepted' ? status : ('failed' as const),
      reason,
      durationMs,
      httpStatus,
      requestId,
      bodySha256,
      response,
      nextTry: status === 'accepted' ? this.nextConfirmation(destination, requestId) : undefined,
      unknown: isUnknown ? true : undefined,
      unknownSince: isUnknown ? (unknownSinceOf(request) ?? isoTime(this.clock.nowMs() - durationMs)) : undefined,
      giveUpAt: undefined,
    };
    if (result.without) return this.afterRefusedIdentifier(request, destination, details, result.without);
    return status === 'deferred' ? this.deferred(request, destination, details, result.afterMs) : details;
  }

  /** To be sent again without what the platform refused, unless that was done before or nothing would identify the person. */
  private afterRefusedIdentifier(
    request: DeliveryRequest,
    destination: Destination,
    details: OutcomeDetails,
    without: readonly OptionalIdentifier[],
  ): OutcomeDetails {
    const bodySha256 = digestWithout(request, destination, without, details.bodySha256);
    if (bodySha256 === undefined) return details;
    return this.deferred(request, destination, { ...details, reason: IDENTIFIER_REFUSED, bodySha256, without });
  }

  private nextConfirmation({ platform }: Destination, requestId: string | undefined): string | undefined {
    if (!platform.confirmation || requestId === undefined) return undefined;
    return isoTime(this.clock.nowMs() + this.settings.confirmationPollMs);
  }

  /** Deferred to the next attempt, or failed if that would be too late. */
  private deferred(
    request: DeliveryRequest,
    destination: Destination,
    details: Omit<OutcomeDetails, 'status'>,
    afterMs?: number,
  ): OutcomeDetails {
    const nowMs = this.clock.nowMs();
    const untilMs = attemptUntilMs(request, destination, this.rules, details.unknownSince);
    const failed = { attempt: request.attempt, nowMs, afterMs, random: Math.random() };
    const next = isHeldBack(details.reason)
      ? nowMs + HELD_DELAY_MS
      : details.reason === IDENTIFIER_REFUSED
        ? nowMs
        : nextAttemptMs(failed, untilMs, this.rules);
    if (next === undefined || next > untilMs) return { ...details, ...GAVE_UP };
    const { unknown = false } = details;
    return { ...details, status: 'deferred', unknown, nextTry: isoTime(next), giveUpAt: isoTime(untilMs) };
  }

  private queueOf({ site: { host }, platform, siteConnection: { platform: name } }: Destination): DestinationQueue {
    let queues = this.queues.get(host);
    if (!queues) {
      queues = new Map();
      this.queues.set(host, queues);
    }
    let queue = queues.get(name);
    if (!queue) {
      queue = this.createQueue(host, name, platform);
      queues.set(name, queue);
    }
    queue.use(platform);
    return queue;
  }

  private createQueue(site: string, name: ConnectionName, first: Platform): DestinationQueue {
    const { connections, tokens, client, findChanges } = this;
    return new DestinationQueue(
      first,
      {
        nowMs: () => this.clock.nowMs(),
        destination: () => connections.find(site, name),
        request: (platform, request, connection) => client.request(platform, request, connection),
        accessToken: (platform, connection, stale) => tokens.get({ site, name, platform }, connection, stale),
        changes: (subjects, positions) => findChanges(site, subjects, positions),
        park: (reason) => connections.park(site, name, reason),
        pause: (reason) => connections.pause(site, name, reason),
        resume: () => connections.resume(site, name),
        onError: (error) => this.logError(error),
      },
      this.rules.scheduleMs[0] as number,
    );
  }

  private logError(error: unknown, fields: object = {}): void {
    const { stack } = error as Error;
    this.logger.error('Internal error in a delivery', { error: messageOf(error), stack, ...fields });
  }
}

/** Without the reason of a platform, which may repeat what it was sent. */
function endSpan(span: TraceSpan, { status, httpStatus }: Outcome): void {
  const answer = httpStatus === undefined ? {} : { 'http.response.status_code': httpStatus };
  span.end({ 'cc.status': status, ...answer }, status === 'failed' || status === 'deferred');
}

function decidedOf(
  { received: { data, personal, position }, decidedMs }: DeliveryRequest,
  { site: { settings } }: Pick<Destination, 'site'>,
): Decided {
  const atMs = decidedMs ?? Number.NEGATIVE_INFINITY;
  const subject = personal ? subjectOfPerson(personal) : undefined;
  // It was decided as after an opt-out.
  if (data.consent === 'denied' || !personal || subject === undefined) return { atMs, position };
  const isStated = settings.identifyBy === 'any' || personal.person !== undefined;
  return { atMs, position, subject, stated: isStated ? personal : undefined };
}

function isHeldBack(reason: string | undefined): boolean {
  return reason === 'pending' || reason === 'authorization' || reason === 'paused';
}

/** Assigns each field: this runs for every delivery, and object spread is measurably slower. */
function toOutcome(request: DeliveryRequest, details: OutcomeDetails, asOf: SettingsAsOf | undefined): Outcome {
  const { received, platform, attempt, eventId, payloadVersion, reopened, without, alone } = request;
  return {
    conversionId: received.data.conversionId,
    platform,
    attempt,
    status: details.status,
    reason: details.reason,
    durationMs: details.durationMs,
    httpStatus: details.httpStatus,
    requestId: details.requestId,
    bodySha256: details.bodySha256,
    response: details.response,
    nextTry: details.nextTry,
    alone: alone && details.status === 'deferred' ? true : undefined,
    eventId,
    siteVersion: asOf?.siteVersion,
    settings: asOf?.settings,
    payloadVersion,
    reopened,
    without: details.without ?? without,
    unknown: details.unknown,
    unknownSince: details.unknownSince ?? unknownSinceOf(request),
    giveUpAt: details.giveUpAt,
    uncounted: isCounted(received.data) ? undefined : true,
  };
}
