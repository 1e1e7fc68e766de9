import { OUTBOUND, type OutboundEvent, type ReportingWindow } from '../events/outbound.events.js';
import { HttpClient } from '../http/client/http-client.js';
import { SendFailure } from '../http/client/send-failure.js';
import type { Clock } from '../kernel/clock.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Lease } from '../postgres/lease.js';
import { DisableWebhook } from '../sites/webhook.commands.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { maySend } from './push-lease.js';
import { pushRequest, testRequest, type WebhookSecrets } from './push-request.js';
import { afterFailure, type RetryRules, type Verdict, verdictOf, verdictOfFailure } from './push-verdict.js';
import {
  attemptsOf,
  countedUpTo,
  type End,
  endOf,
  failuresOf,
  nextWindowStart,
  ownEnd,
  streamOf,
} from './reporting-window.js';
import { COUNTED, COUNTED_BY, sumTotals } from './totals.js';

const RECORD_RETRY_MS = 500;
/** Per receiver, so that one receiver of several sites cannot use all connections. */
const CONNECTIONS_MAX = 128;

export interface PusherOptions extends RetryRules {
  readonly actor: Actor;
  /** The clock for ticks and attempts. */
  readonly now: () => number;
  /** The newest signed checkpoint of the log. */
  checkpoint?(): Promise<string | undefined>;
  /** For metrics and logs. */
  count?(outcome: 'delivered' | 'failed'): void;
  disabled?(site: string, reason: string): void;
  /** A window lacks events that retention removed while the webhook was disabled. */
  incomplete?(site: string, removedUntil: number): void;
}

export function pusherOptions(settings: Settings, actor: PusherOptions['actor'], clock: Clock): PusherOptions {
  const { outboundRetryScheduleMs: scheduleMs, outboundDisableAfterMs: disableAfterMs } = settings;
  return { scheduleMs, disableAfterMs, actor, now: () => clock.nowMs() };
}

/** The HTTP client for customers' receivers. */
export function openHttpClient({
  outboundTimeoutMs: timeoutMs,
  outboundAllowPrivate: allowPrivate,
}: Settings): HttpClient {
  return new HttpClient({ connectionsPerOrigin: CONNECTIONS_MAX, timeoutMs, allowPrivate });
}

/** What pushing needs of a site. */
export interface Receiver {
  readonly site: string;
  readonly webhook: SiteWebhook;
  /** It may have come from another log. */
  readonly hasMoved: boolean;
  /** Undefined when they cannot be decrypted. */
  readonly secrets: WebhookSecrets | undefined;
}

/** Closes and pushes reporting windows, for the holder of the site's lease. */
export class Pusher {
  constructor(
    private readonly log: EventLog,
    private readonly commands: CommandExecutor,
    private readonly httpClient: HttpClient,
    private readonly options: PusherOptions,
  ) {}

  /** One clock for all decisions about a site. */
  now(): number {
    return this.options.now();
  }

  async readEnds(sites: readonly string[]): Promise<Map<string, NonNullable<End>>> {
    const events = await this.log.readEnds(OUTBOUND, sites.map(streamOf));
    return new Map(events.map((event) => [event.site, event]));
  }

  /** Counts from the end of the last window to the head of the log and records the result. Undefined if another process did. */
  async close(receiver: Receiver, end: End): Promise<End> {
    const { site, webhook } = receiver;
    // Before the events are counted: a window without those of another lineage belongs to this one.
    const begin = nextWindowStart(webhook, end, await this.log.lastJump());
    const after = await countedUpTo(this.log, receiver, end);
    const until = Math.max(after, await this.log.head());
    const range = { site, after, until, types: COUNTED };
    const counts = await this.log.count({ ...range, by: COUNTED_BY });
    const [last] = counts.length > 0 ? await this.log.read({ ...range, limit: 1, newest: true }) : [];
    const removedUntil = await this.log.removedUntil();
    const isIncomplete = removedUntil > after;
    if (isIncomplete) this.options.incomplete?.(site, removedUntil);
    // The clock may step back, windows must not.
    const windowEnd = new Date(Math.max(this.options.now(), Date.parse(begin.windowStart))).toISOString();
    const window: ReportingWindow = {
      stretchId: uuidv7(),
      ...begin,
      toPosition: endOf(begin.fromPosition, until),
      counted: last ? countedEvent(last) : (ownEnd(webhook, end)?.data.counted ?? null),
      windowEnd,
      body: sumTotals(counts),
    };
    return this.append(site, end, {
      type: 'outbound.closed.v1',
      data: { ...window, ...(isIncomplete && { removedUntil }) },
    });
  }

  /** One attempt. Undefined when the lease expired before it was sent, or before its outcome could be recorded. */
  async push(receiver: Receiver, window: ReportingWindow, end: End, lease: Lease): Promise<End> {
    const { now } = this.options;
    const { site, webhook } = receiver;
    const startedMs = performance.now();
    const verdict = await this.call(receiver, window, lease);
    if (!verdict) return undefined;
    const { httpStatus } = verdict;
    const attempt = { attempt: attemptsOf(end) + 1, durationMs: Math.round(performance.now() - startedMs), httpStatus };
    this.options.count?.(verdict.accepted ? 'delivered' : 'failed');
    if (verdict.accepted) {
      return this.record(site, end, { type: 'outbound.delivered.v1', data: { ...window, ...attempt } }, lease);
    }
    const failure = afterFailure(verdict, failuresOf(webhook, end), now(), this.options);
    // Before the event: a window without a next attempt must belong to a disabled webhook, even after a crash.
    if (failure.nextTry === undefined) await this.disable(site, failure.reason, verdict.gone === true);
    return this.record(site, end, { type: 'outbound.failed.v1', data: { ...window, ...attempt, ...failure } }, lease);
  }

  /** Whether the receiver accepts a test push. Closes no window. */
  async test({ webhook, secrets }: Receiver & { secrets: WebhookSecrets }): Promise<Verdict> {
    return (await this.exchange(testRequest(webhook, secrets, this.options.now()))) as Verdict;
  }

  /** Waits for requests in flight. */
  async end(): Promise<void> {
    await this.httpClient.close();
  }

  private async call(
    { webhook, secrets }: Receiver,
    window: ReportingWindow,
    lease: Lease,
  ): Promise<Verdict | undefined> {
    if (!secrets)
      return {
        accepted: false,
        reason: 'secret_missing: SECRET_KEY cannot decrypt it, set it again with "webhook set"',
      };
    const checkpoint = await this.options.checkpoint?.();
    return this.exchange(pushRequest(webhook, secrets, window, this.options.now(), checkpoint), lease);
  }

  private async exchange(request: ReturnType<typeof pushRequest>, lease?: Lease): Promise<Verdict | undefined> {
    const mayGo = lease && (() => maySend(lease));
    try {
      const response = await this.httpClient.send(request, { guarded: true, statusSuffices: true, mayGo });
      return verdictOf(response, this.options.now());
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      // Nothing was sent because the lease had expired: not an attempt.
      if (lease && !maySend(lease) && !error.sent) return undefined;
      return verdictOfFailure(error);
    }
  }

  private async disable(site: string, reason: string, gone: boolean): Promise<void> {
    const why = gone ? reason : `failed for too long, last error: ${reason}`;
    await this.commands.execute(new DisableWebhook(this.options.actor, site, why));
    this.options.disabled?.(site, why);
  }

  /** Retries until the append has an outcome. If the lease expires first, the next holder sends the same push again. */
  private async record(site: string, end: End, event: OutboundEvent, lease: Lease): Promise<End> {
    for (;;) {
      try {
        return await this.append(site, end, event);
      } catch (error) {
        if (!(error instanceof LogUnavailable) || !maySend(lease)) throw error;
        await new Promise((next) => setTimeout(next, RECORD_RETRY_MS));
      }
    }
  }

  /** At the version that the decision was made on: of two concurrent decisions the log accepts one. */
  private async append(site: string, end: End, event: OutboundEvent): Promise<End> {
    const version = end?.version ?? 0;
    const outcome = await this.log.append({
      category: OUTBOUND,
      stream: streamOf(site),
      expected: version,
      site,
      actor: this.options.actor,
      events: [event],
    });
    if (outcome.status !== 'appended') return undefined;
    return { ...event, version: version + 1, position: outcome.position, time: outcome.time };
  }
}

function countedEvent({ stream, version }: Pick<StoredEvent, 'stream' | 'version'>) {
  return { stream: stream.slice(stream.indexOf('-') + 1), version };
}
