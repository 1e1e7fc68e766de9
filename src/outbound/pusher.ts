import { OUTBOUND, type OutboundEvent, type ReportingWindow } from '../events/outbound.events.js';
import { Outgoing } from '../http/outgoing/outgoing.js';
import { SendFailure } from '../http/outgoing/send-failure.js';
import type { CommandExecutor } from '../kernel/command.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { EventLog } from '../log/event-log.js';
import { DisableWebhook } from '../sites/webhook.commands.js';
import type { SiteWebhook } from '../sites/webhook.js';
import type { Claim } from './claims.js';
import { pushRequest, testRequest, type WebhookSecrets } from './push-request.js';
import { attemptsOf, type End, failuresOf, nextBegin, streamOf } from './reporting-window.js';
import { addUp, COUNTED, DECIDING } from './totals.js';
import { afterFailure, type RetryRules, type Verdict, verdictOf, verdictOfFailure } from './verdict.js';

const WRITE_AGAIN_MS = 500;
/** To one receiver: one of several sites' must not take all there is. */
const CONNECTIONS_MAX = 128;

export interface PusherOptions extends RetryRules {
  readonly actor: 'system' | 'cli';
  /** The clock that ticks and tries go by. */
  readonly now: () => number;
  /** For those who watch. */
  count?(outcome: 'delivered' | 'failed'): void;
  disabled?(site: string, reason: string): void;
}

export function pusherOptions(settings: Settings, actor: PusherOptions['actor']): PusherOptions {
  const { outboundRetryScheduleMs: scheduleMs, outboundDisableAfterMs: disableAfterMs } = settings;
  return { scheduleMs, disableAfterMs, actor, now: Date.now };
}

/** The way out to customers' receivers. */
export function openOutgoing({ outboundTimeoutMs: timeoutMs, outboundAllowPrivate: allowPrivate }: Settings): Outgoing {
  return new Outgoing({ connectionsPerOrigin: CONNECTIONS_MAX, timeoutMs, allowPrivate });
}

/** A site, as far as it is about pushing. */
export interface Receiver {
  readonly site: string;
  readonly webhook: SiteWebhook;
  /** Undefined where it cannot be opened. */
  readonly secrets: WebhookSecrets | undefined;
}

/** Closes stretches and pushes them, for whoever holds the claim on the site. */
export class Pusher {
  constructor(
    private readonly log: EventLog,
    private readonly commands: CommandExecutor,
    private readonly outgoing: Outgoing,
    private readonly options: PusherOptions,
  ) {}

  /** Everybody who decides for a site goes by the same clock. */
  now(): number {
    return this.options.now();
  }

  async readEnds(sites: readonly string[]): Promise<Map<string, NonNullable<End>>> {
    const events = await this.log.readEnds(OUTBOUND, sites.map(streamOf));
    return new Map(events.map((event) => [event.site, event]));
  }

  /** Counts from where the last stretch ended to the log's head, and writes that down. Undefined when somebody else did. */
  async close({ site, webhook }: Receiver, end: End): Promise<End> {
    const begin = nextBegin(webhook, end);
    const until = Math.max(begin.fromPosition, await this.log.head());
    const counts = await this.log.count({ site, after: begin.fromPosition, until, types: COUNTED, by: DECIDING });
    // Clocks may step back, windows do not.
    const windowEnd = new Date(Math.max(this.options.now(), Date.parse(begin.windowStart))).toISOString();
    const stretch: ReportingWindow = {
      stretchId: uuidv7(),
      ...begin,
      toPosition: until,
      windowEnd,
      body: addUp(counts),
    };
    return this.append(site, end, { type: 'outbound.closed.v1', data: stretch });
  }

  /** One try. Undefined when the claim ended before it was sent, or before its outcome could be written down. */
  async send(receiver: Receiver, stretch: ReportingWindow, end: End, claim: Claim): Promise<End> {
    const { now } = this.options;
    const { site, webhook } = receiver;
    const beganMs = performance.now();
    const verdict = await this.call(receiver, stretch, claim);
    if (!verdict) return undefined;
    const { httpStatus } = verdict;
    const attempt = { attempt: attemptsOf(end) + 1, durationMs: Math.round(performance.now() - beganMs), httpStatus };
    this.options.count?.(verdict.taken ? 'delivered' : 'failed');
    if (verdict.taken) {
      return this.write(site, end, { type: 'outbound.delivered.v1', data: { ...stretch, ...attempt } }, claim);
    }
    const failure = afterFailure(verdict, failuresOf(webhook, end), now(), this.options);
    // Before the event: a stretch that has no next try belongs to a webhook that is disabled, also after a crash.
    if (failure.nextTry === undefined) await this.disable(site, failure.reason, verdict.gone === true);
    return this.write(site, end, { type: 'outbound.failed.v1', data: { ...stretch, ...attempt, ...failure } }, claim);
  }

  /** Whether the receiver would take a push. Moves nothing. */
  async test({ webhook, secrets }: Receiver & { secrets: WebhookSecrets }): Promise<Verdict> {
    return (await this.exchange(testRequest(webhook, secrets, this.options.now()))) as Verdict;
  }

  /** Waits for calls under way. */
  async end(): Promise<void> {
    await this.outgoing.close();
  }

  private async call(
    { webhook, secrets }: Receiver,
    stretch: ReportingWindow,
    claim: Claim,
  ): Promise<Verdict | undefined> {
    if (!secrets)
      return { taken: false, reason: 'secret_missing: SECRET_KEY does not open it, give it again with "webhook set"' };
    return this.exchange(pushRequest(webhook, secrets, stretch, this.options.now()), claim);
  }

  private async exchange(request: ReturnType<typeof pushRequest>, claim?: Claim): Promise<Verdict | undefined> {
    const mayGo = claim && (() => claim.maySend);
    try {
      const response = await this.outgoing.send(request, { guarded: true, statusSuffices: true, mayGo });
      return verdictOf(response, this.options.now());
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      // Nothing was sent because it was too late: that is no try.
      if (claim && !claim.maySend && !error.sent) return undefined;
      return verdictOfFailure(error);
    }
  }

  private async disable(site: string, reason: string, gone: boolean): Promise<void> {
    const why = gone ? reason : `failed for too long, at last with ${reason}`;
    await this.commands.execute(new DisableWebhook(this.options.actor, site, why));
    this.options.disabled?.(site, why);
  }

  /** Until it is known what became of it: should the claim end before, another one sends the same again. */
  private async write(site: string, end: End, event: OutboundEvent, claim: Claim): Promise<End> {
    for (;;) {
      try {
        return await this.append(site, end, event);
      } catch (error) {
        if (!(error instanceof LogUnavailable) || !claim.maySend) throw error;
        await new Promise((next) => setTimeout(next, WRITE_AGAIN_MS));
      }
    }
  }

  /** At the version that the decision was made on: of two who decide at once, the log lets one. */
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
