import type { ConversionPersonal } from '../events/conversion.events.js';
import { TimedOut, withTimeout } from '../kernel/with-timeout.js';
import { isRequestId, redact, shorten } from '../platforms/common-verdict.js';
import { versionOf } from '../platforms/defined/compile.js';
import type { OptionalIdentifier } from '../platforms/optional-identifiers.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse, Verdict } from '../platforms/platform.js';
import { mayHaveBeenAccepted } from '../platforms/unknown-outcome.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { CredentialsRefused } from './connections/access-tokens.js';
import { accountOf, connectionTo } from './connections/account.js';
import type { Destination } from './connections/connections.js';
import { NoResponse } from './connections/platform-client.js';
import { type Changes, changeOf, type Decided, isOutdated, subjectsOf } from './decided.js';
import type { DeferReason } from './delivery.js';
import { hidePersonal } from './payload/hide-personal.js';
import { type DeliveryPayload, deliveryRequest } from './payload/payload.js';
import { RateLimiter } from './rate-limiter.js';

/** Requests in flight per connection, and so its sockets. More where a request carries a single conversion. */
const REQUESTS_MAX = { batched: 8, single: 32 };
/** Deliveries pending in memory. The log is the durable queue: beyond this a delivery is deferred and read from there. */
const PENDING_MAX = 2_000;
/** Characters of the payloads in one request. Segment accepts 500 kB; no documented limit of another platform is lower. */
const BATCH_SIZE_MAX = 400_000;
/** If no request in flight was answered for this long, the platform hangs, and pending deliveries are deferred. */
const STALLED_MS = 2_000;
const THROTTLED_MS = 1_000;
/** How long deliveries wait for an access token, or for a change of the connection's state. Either may need the database. */
const WAIT_MAX_MS = 10_000;
/** How long deliveries wait in memory for the rate limit of the platform. Those that would wait longer are deferred. */
const RATE_WAIT_MS = 10_000;

export interface QueuedDelivery {
  readonly payload: Pick<DeliveryPayload, 'body' | 'group' | 'account'>;
  /** The platform may have accepted it in an earlier attempt, so it is sent to the account of that attempt only. */
  readonly bound: boolean;
  /** Sent in a request of its own, so that the response concerns it alone. */
  readonly alone: boolean;
  /** Sent although the connection is parked, to find out whether it works again. */
  readonly probe: boolean;
  /** False once this process may no longer act for the conversion. */
  readonly mayDeliver: () => boolean;
  readonly decided: Decided;
  /** What the platform may repeat, and must not be stored of its answer. */
  readonly personal?: ConversionPersonal | null | undefined;
  /** Sent to receivers of the site only, if the connection is set so. */
  readonly traceparent?: string | undefined;
  readonly done: (result: AttemptResult) => void;
}

export interface AttemptResult {
  /**
   * `withdrawn`: not sent, because this process may no longer act for the conversion. `opted_out` and `erased`: not
   * sent, because the person has opted out, or was erased, since the conversion was decided.
   */
  readonly status: 'delivered' | 'accepted' | 'failed' | 'deferred' | 'withdrawn' | 'opted_out' | 'erased';
  readonly reason?: string | undefined;
  /** Wait requested by the platform. */
  readonly afterMs?: number | undefined;
  readonly durationMs: number;
  readonly httpStatus?: number | undefined;
  readonly requestId?: string | undefined;
  readonly response?: string | undefined;
  /** Failed for these identifiers alone. */
  readonly without?: readonly OptionalIdentifier[] | undefined;
  /** The platform may have accepted it, although the attempt did not succeed. */
  readonly unknown?: boolean | undefined;
}

export interface DestinationQueueDependencies {
  /** The database's time. */
  nowMs(): number;
  /** As of now: an operator may have changed the connection. Undefined if it is disconnected. */
  destination(): Pick<Destination, 'connection' | 'state'> | undefined;
  request(platform: Platform, request: PlatformRequest, connection: Connection): Promise<PlatformResponse>;
  /** Undefined if the connection needs no token. With `stale`, a token other than that one. */
  accessToken(platform: Platform, connection: Connection, stale?: string): Promise<string | undefined>;
  /** Which of these people have opted out, and which of these events have lost their personal part, as of now. */
  changes(subjects: readonly string[], positions: readonly number[]): Promise<Changes>;
  park(reason: string): Promise<void>;
  pause(reason: string): Promise<void>;
  resume(): Promise<void>;
  /** A bug in the service. */
  onError(error: unknown): void;
}

/**
 * Delivery queue of one connection, with its own concurrency limit and circuit breaker. Deliveries enqueued in the same
 * event-loop turn share a request if the platform accepts batches; none waits for a batch to fill.
 */
export class DestinationQueue {
  private pending: QueuedDelivery[] = [];
  private inFlight = 0;
  private flushScheduled = false;
  private lastResponse = performance.now();
  private stateChange: Promise<void> | undefined;
  private readonly breaker: CircuitBreaker;
  private readonly rate = new RateLimiter();
  private rateTimer: NodeJS.Timeout | undefined;
  /** Requests that repeat a part of one, and wait for the rate limit. */
  private waitingForRate = 0;

  constructor(
    private platform: Platform,
    private readonly dependencies: DestinationQueueDependencies,
    openMs: number,
  ) {
    this.breaker = new CircuitBreaker(openMs);
    this.use(platform);
  }

  /** The newest version of the platform, if it is one with a definition. What was enqueued keeps its own (`versionOf`). */
  use(platform: Platform): void {
    this.platform = platform;
    this.rate.limit = platform.rateLimit;
  }

  /** How many retries it can accept now: at most one while a single request decides whether the breaker closes. */
  get capacity(): number {
    if (this.stateChange || this.refusal()) return 0;
    const busy = this.pending.length + this.inFlight;
    const isRecovering = this.breaker.concurrency(this.requestsMax) === 1;
    return isRecovering ? Math.max(0, 1 - busy) : Math.max(0, this.pendingMax - this.pending.length);
  }

  private get requestsMax(): number {
    return this.platform.batchMax > 1 ? REQUESTS_MAX.batched : REQUESTS_MAX.single;
  }

  private get pendingMax(): number {
    return Math.min(PENDING_MAX, this.rate.possibleIn(RATE_WAIT_MS, performance.now()) * this.platform.batchMax);
  }

  enqueue(delivery: QueuedDelivery): void {
    // During a state change the delivery waits for the new state.
    const refusal = delivery.probe || this.stateChange ? undefined : this.refusal();
    if (refusal || this.pending.length >= this.pendingMax) {
      delivery.done(deferred(refusal ?? 'pending'));
      return;
    }
    this.pending.push(delivery);
    this.scheduleFlush();
  }

  /** Defers the pending deliveries of a platform that hangs. */
  tick(): void {
    const now = performance.now();
    const isAnswered = this.inFlight === 0 || this.waitingForRate > 0 || now - this.lastResponse < STALLED_MS;
    if (isAnswered || this.pending.length === 0) return;
    this.breaker.open(now);
    for (const delivery of this.pending.splice(0)) delivery.done(deferred('circuit_open'));
  }

  private refusal(): DeferReason | undefined {
    const state = this.dependencies.destination()?.state;
    if (state === 'paused') return 'paused';
    if (state === 'parked') return 'authorization';
    return this.breaker.refusal(performance.now());
  }

  private scheduleFlush(): void {
    if (this.flushScheduled) return;
    this.flushScheduled = true;
    setImmediate(() => {
      this.flushScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (!this.stateChange && this.pending.length > 0 && this.inFlight < this.breaker.concurrency(this.requestsMax)) {
      const now = performance.now();
      const waitMs = this.rate.waitMs(now);
      if (waitMs > 0) {
        this.flushAfter(waitMs);
        return;
      }
      this.rate.count(now);
      if (this.inFlight === 0) this.lastResponse = now;
      this.inFlight += 1;
      void this.sendBatch(this.nextBatch()).finally(() => {
        this.inFlight -= 1;
        this.flush();
      });
    }
  }

  private flushAfter(ms: number): void {
    this.rateTimer ??= setTimeout(() => {
      this.rateTimer = undefined;
      this.flush();
    }, Math.ceil(ms)).unref();
  }

  /** For a request that does not come from `flush`. */
  private async rateLimited(): Promise<void> {
    this.waitingForRate += 1;
    for (;;) {
      const now = performance.now();
      const waitMs = this.rate.waitMs(now);
      if (waitMs <= 0) {
        this.rate.count(now);
        this.waitingForRate -= 1;
        this.lastResponse = now;
        return;
      }
      await new Promise((next) => setTimeout(next, Math.ceil(waitMs)).unref());
    }
  }

  private nextBatch(): QueuedDelivery[] {
    const [first, ...rest] = this.pending as [QueuedDelivery, ...QueuedDelivery[]];
    const batch = [first];
    let size = first.payload.body.length;
    // An earlier version of a definition may put fewer conversions in a request.
    const { batchMax } = versionOf(this.platform, first.payload.account.settings);
    if (batchMax > 1 && !first.alone) {
      const remaining: QueuedDelivery[] = [];
      for (const delivery of rest) {
        const { length } = delivery.payload.body;
        const hasRoom = batch.length < batchMax && size + length <= BATCH_SIZE_MAX;
        const joins = hasRoom && isSameGroup(delivery, first) && !delivery.alone;
        if (joins) size += length;
        (joins ? batch : remaining).push(delivery);
      }
      this.pending = remaining;
    } else this.pending = rest;
    return batch;
  }

  /**
   * Sends one request and settles every delivery in it. Never throws. `unknown`: the platform may have accepted them in an
   * earlier request of this attempt.
   */
  private async sendBatch(deliveries: readonly QueuedDelivery[], unknown = false): Promise<void> {
    const batch = withdrawLate(deliveries, unknown);
    if (batch.length === 0) return;
    const current = this.dependencies.destination()?.connection;
    if (!current) return settleAll(batch, { status: 'failed', reason: 'disconnected', durationMs: 0, unknown });
    const refusal = batch[0]?.probe ? undefined : this.stateChange ? 'authorization' : this.refusal();
    if (refusal) return settleAll(batch, { ...deferred(refusal), unknown });
    const started = performance.now();
    const answer = await this.requestVerdict(batch, unknown);
    const durationMs = Math.round(performance.now() - started);
    if (answer.batch.length === 0) return;
    this.updateBreaker(answer);
    await this.settle(answer, durationMs, unknown);
  }

  private async requestVerdict(
    deliveries: readonly QueuedDelivery[],
    unknown: boolean,
    stale?: string,
  ): Promise<Answer> {
    let batch = deliveries;
    let isRequested = false;
    try {
      const connection = this.connectionOf(batch);
      const platform = versionOf(this.platform, connection.settings);
      const accessToken = await withTimeout(this.dependencies.accessToken(platform, connection, stale), WAIT_MAX_MS);
      batch = await this.withoutChanges(batch, unknown);
      // The token request may have taken longer than this process may act for a conversion.
      batch = withdrawLate(batch, unknown);
      if (batch.length === 0) return { batch, verdict: NO_VERDICT };
      const request = deliveryRequest(
        platform,
        batch.map(({ payload }) => payload.body),
        {
          connection,
          group: batch[0]?.payload.group,
          accessToken,
          nowMs: this.dependencies.nowMs(),
          traceparent: batch[0]?.traceparent,
        },
      );
      isRequested = true;
      const answer = await this.dependencies.request(platform, request, connection);
      const verdict = this.platform.verdict(answer, batch.length);
      // The token may have been revoked before it expired: repeat the request once with a fresh one.
      const isRefused = firstOf(verdict).kind === 'unauthorized';
      if (isRefused && accessToken !== undefined && stale === undefined) {
        await this.rateLimited();
        return this.requestVerdict(batch, unknown, accessToken);
      }
      const shown = hidePersonal(
        answer,
        batch.map(({ personal }) => personal),
      );
      const stored = shown === answer ? verdict : this.inWordsOf(shown, verdict, batch.length);
      return { batch, verdict: storable(stored), httpStatus: shown.status, response: redact(shown.text) };
    } catch (error) {
      return { batch, verdict: this.verdictOfError(error, isRequested) };
    }
  }

  /**
   * The verdict with the reasons that the platform's answer gives without what it repeats of people. They are not taken out of the reasons
   * themselves, which may be cut off: a part of a value would not be recognised. A text of a person can also be a word that decides, so
   * the answer without it decides nothing.
   */
  private inWordsOf(
    shown: PlatformResponse,
    verdict: Verdict | readonly Verdict[],
    items: number,
  ): Verdict | readonly Verdict[] {
    const other = this.platform.verdict(shown, items);
    const reworded = (decided: Verdict, index: number): Verdict => {
      if (decided.kind === 'retry' || !('reason' in decided)) return decided;
      const worded = isList(other) ? other[index] : other;
      const reason = worded && worded.kind !== 'retry' && 'reason' in worded ? worded.reason : `HTTP ${shown.status}`;
      return { ...decided, reason };
    };
    return isList(verdict) ? verdict.map(reworded) : reworded(verdict, 0);
  }

  /** Those that may still be sent as they are. If that cannot be read, another attempt is made later. */
  private async withoutChanges(
    deliveries: readonly QueuedDelivery[],
    unknown: boolean,
  ): Promise<readonly QueuedDelivery[]> {
    const now = performance.now();
    const outdated = new Set(deliveries.filter(({ decided }) => isOutdated(decided, now)));
    if (outdated.size === 0) return deliveries;
    const subjects = new Set([...outdated].flatMap(({ decided }) => subjectsOf(decided)));
    const positions = new Set([...outdated].map(({ decided }) => decided.position));
    const lookup = this.dependencies.changes([...subjects], [...positions]);
    const changes = await withTimeout(lookup, WAIT_MAX_MS).catch(() => undefined);
    return deliveries.filter((delivery) => {
      if (!outdated.has(delivery)) return true;
      const change = changes && changeOf(delivery.decided, changes);
      if (changes && !change) return true;
      if (change) delivery.done({ status: change, durationMs: 0, unknown });
      else withdraw(delivery, unknown);
      return false;
    });
  }

  /** With the current credentials, for the account of these deliveries. */
  private connectionOf([first]: readonly QueuedDelivery[]): Connection {
    const connection = this.dependencies.destination()?.connection;
    if (!connection || !first) throw new NoResponse({ kind: 'retry', reason: 'network_error', unknown: false });
    return connectionTo(this.platform, connection, first.payload.account);
  }

  private verdictOfError(error: unknown, isRequested: boolean): Verdict {
    if (error instanceof NoResponse) {
      const { outcome } = error;
      // Without a token nothing was sent to the platform.
      return outcome.kind === 'retry' ? { ...outcome, unknown: outcome.unknown && isRequested } : outcome;
    }
    if (error instanceof TimedOut) return { kind: 'retry', reason: 'network_error', unknown: false };
    if (error instanceof CredentialsRefused) return { kind: 'unauthorized', reason: error.message };
    // A bug in the service must not lose the delivery: it is retried, possibly by a version that has the fix.
    this.dependencies.onError(error);
    return { kind: 'retry', reason: 'server_error', unknown: isRequested };
  }

  /** The breaker counts requests, not conversions. Any answer that is not a retry shows that the platform responds. */
  private updateBreaker({ verdict }: Answer): void {
    const now = performance.now();
    this.lastResponse = now;
    const first = firstOf(verdict);
    if (first.kind !== 'retry') this.breaker.succeeded();
    else if (first.reason === 'throttled') this.breaker.throttle(now, first.afterMs ?? THROTTLED_MS);
    else this.breaker.failed(now);
  }

  private async settle(answer: Answer, durationMs: number, unknownBefore: boolean): Promise<void> {
    const { batch, verdict: verdicts, httpStatus, response } = answer;
    const resend: QueuedDelivery[] = [];
    let unknownResend = unknownBefore;
    for (let index = 0; index < batch.length; index += 1) {
      const delivery = batch[index] as QueuedDelivery;
      const verdict = isList(verdicts) ? (verdicts[index] ?? NO_VERDICT) : verdicts;
      const requestId = 'requestId' in verdict ? verdict.requestId : undefined;
      if (verdict.kind === 'delivered' || verdict.kind === 'accepted') {
        // Without spreads: this is how nearly every delivery ends.
        delivery.done({ status: verdict.kind, durationMs, httpStatus, requestId, response });
        if (delivery.probe) this.changeState(() => this.dependencies.resume());
        continue;
      }
      const unknown = unknownBefore || mayHaveBeenAccepted(verdict);
      const call = { durationMs, httpStatus, response, requestId };
      switch (verdict.kind) {
        case 'rejected':
          delivery.done({ status: 'failed', reason: verdict.reason, unknown, ...call });
          break;
        case 'without':
          delivery.done({ status: 'failed', reason: verdict.reason, without: verdict.identifiers, unknown, ...call });
          break;
        case 'retry':
          delivery.done({ status: 'deferred', reason: verdict.reason, afterMs: verdict.afterMs, unknown, ...call });
          break;
        case 'unauthorized':
        case 'misconfigured':
        case 'gone':
          delivery.done({ ...this.refused(delivery, verdict), unknown, ...call });
          break;
        case 'resend':
        case 'split':
          if (batch.length > 1) {
            resend.push(delivery);
            unknownResend ||= unknown;
          } else {
            const reason = 'reason' in verdict ? verdict.reason : 'refused';
            delivery.done({ status: 'failed', reason, unknown, ...call });
          }
      }
    }
    if (resend.length === 0) return;
    // If the answer identified the rejected payloads, the others go together. Otherwise bisect to find the rejected one.
    const batches = resend.length < batch.length ? [resend] : halve(resend);
    for (const next of batches) {
      await this.rateLimited();
      await this.sendBatch(next, unknownResend);
    }
  }

  /** Parks or pauses the connection, unless the answer is about an account that it no longer has. */
  private refused(
    { payload, bound }: QueuedDelivery,
    { kind, reason }: Extract<Verdict, { kind: 'unauthorized' | 'misconfigured' | 'gone' }>,
  ): Pick<AttemptResult, 'status' | 'reason'> {
    const current = this.dependencies.destination()?.connection;
    const isCurrent = current && accountOf(this.platform, current.settings).key === payload.account.key;
    if (!isCurrent && bound) return { status: 'failed', reason: 'account_disconnected' };
    if (isCurrent)
      this.changeState(() => (kind === 'gone' ? this.dependencies.pause(reason) : this.dependencies.park(reason)));
    return { status: 'deferred', reason: kind === 'gone' ? 'paused' : 'authorization' };
  }

  /** Nothing else is sent while the connection is being parked, paused or resumed. */
  private changeState(change: () => Promise<void>): void {
    this.stateChange ??= withTimeout(change(), WAIT_MAX_MS)
      // The next request finds the same reason and repeats the change.
      .catch(() => {})
      .finally(() => {
        this.stateChange = undefined;
        this.flush();
      });
  }
}

interface Answer {
  readonly batch: readonly QueuedDelivery[];
  readonly verdict: Verdict | readonly Verdict[];
  readonly httpStatus?: number;
  readonly response?: string;
}

/** Reasons and request ids come from the platform unchecked. PostgreSQL does not store every string. */
function storable(verdict: Verdict | readonly Verdict[]): Verdict | readonly Verdict[] {
  return isList(verdict) ? verdict.map(storableOne) : storableOne(verdict);
}

function storableOne(verdict: Verdict): Verdict {
  const id = 'requestId' in verdict && !isRequestId(verdict.requestId ?? '') ? { requestId: undefined } : {};
  // The reason of a retry is one of our constants.
  if (verdict.kind === 'retry' || !('reason' in verdict)) return { ...verdict, ...id };
  return { ...verdict, ...id, reason: shorten(verdict.reason) };
}

/** The answer has fewer verdicts than the request had payloads. */
const NO_VERDICT: Verdict = { kind: 'retry', reason: 'server_error' };

function isList(verdict: Verdict | readonly Verdict[]): verdict is readonly Verdict[] {
  return Array.isArray(verdict);
}

function firstOf(verdict: Verdict | readonly Verdict[]): Verdict {
  return isList(verdict) ? (verdict[0] ?? NO_VERDICT) : verdict;
}

/** Payloads of different groups or accounts cannot share a request. */
function isSameGroup(one: QueuedDelivery, other: QueuedDelivery): boolean {
  return one.payload.group === other.payload.group && one.payload.account.key === other.payload.account.key;
}

/**
 * Those that this process may still deliver. Another instance delivers the others, or has delivered them. Where the platform may
 * have accepted one in an earlier request of this attempt, that is reported instead.
 */
function withdrawLate(deliveries: readonly QueuedDelivery[], unknown: boolean): readonly QueuedDelivery[] {
  return deliveries.filter((delivery) => {
    const mayDeliver = delivery.mayDeliver();
    if (!mayDeliver) withdraw(delivery, unknown);
    return mayDeliver;
  });
}

function withdraw(delivery: QueuedDelivery, unknown: boolean): void {
  if (unknown) delivery.done({ status: 'deferred', reason: 'timeout', durationMs: 0, unknown });
  else delivery.done({ status: 'withdrawn', durationMs: 0 });
}

function deferred(reason: DeferReason): AttemptResult {
  return { status: 'deferred', reason, durationMs: 0 };
}

function settleAll(batch: readonly QueuedDelivery[], result: AttemptResult): void {
  for (const delivery of batch) delivery.done(result);
}

function halve<Item>(items: readonly Item[]): Item[][] {
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)];
}
