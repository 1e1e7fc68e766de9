import { type AttemptTerms, DISCONNECTED, decideAttempt, isOfEarlierSite } from '../../delivery/decide-attempt.js';
import { type Delivery, foldDeliveries, isOutcome } from '../../delivery/delivery.js';
import { nextAttempt } from '../../delivery/delivery.saga.js';
import {
  type OrderEntry,
  type ReceivedConversion,
  withOptOut,
  withReopenedVisit,
} from '../../delivery/received-conversion.js';
import type { AgeRules } from '../../delivery/retry-schedule.js';
import type { Outcome } from '../../events/delivery.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { platformOfConnection } from '../../platforms/index.js';
import { asOfIn, type SiteConnection } from '../../sites/connections/connection.js';
import { type Moment, NO_CHANGES, type ShadowRules, type SiteTimeline } from './shadow-rules.js';

/** Summary of a delivery: `sent`, `skipped: <reason>`, `failed: <reason>`, or `validated` for a trial key. */
export interface DeliveryOutcome {
  readonly status: string;
  /** Digest of the payload, see `bodyDigest` of `payload.ts`. */
  readonly bodySha256?: string | undefined;
}

/** A delivery as recorded, and under the rules; absent where there is none. */
export interface ComparedDelivery {
  readonly was?: DeliveryOutcome | undefined;
  readonly would?: DeliveryOutcome | undefined;
}

interface Attempt {
  readonly terms: AttemptTerms;
  /** Since when the delivery may have been attempted. */
  readonly since: Moment;
  readonly recorded?: Outcome | undefined;
  /** Digest of what earlier attempts sent. */
  readonly earlier: string | undefined;
}

/** What an attempt was decided on, and its outcome does not tell. */
interface Circumstances {
  readonly moment: Moment;
  readonly optedOut: boolean;
}

const SENT = 'sent';
/** For so long a process may act on the settings before a change. */
const SETTINGS_DELAY_MS = 10_000;

/**
 * Decides the attempts of deliveries again, by the code of the deliveries. What a platform answered stays as it was: the rules determine
 * whether something is sent, and what.
 */
export class ShadowDeliveries {
  constructor(
    private readonly timeline: SiteTimeline,
    private readonly rules: ShadowRules,
    private readonly ageRules: AgeRules,
  ) {}

  /**
   * `received`: the conversion, if it is received under the rules. `stream`: its events if it was received, with the personal part of one
   * that added a visit.
   */
  compare(
    received: ReceivedConversion | undefined,
    stream: readonly StoredEvent[] | undefined,
  ): Map<ConnectionName, ComparedDelivery> {
    if (!stream) return received ? this.added(received) : new Map();
    return new Map(
      foldDeliveries(stream).map((delivery) => {
        const { platform, last, bodySha256 } = delivery;
        if (received) return [platform, this.compareOne(delivery, received, stream)];
        return [platform, { was: summaryOf(last ?? WAITS, bodySha256) }];
      }),
    );
  }

  private added(received: ReceivedConversion): Map<ConnectionName, ComparedDelivery> {
    const moment = momentOf(received);
    const { connections } = this.timeline.at(moment.position);
    const connected = connections.flatMap(({ platform, disconnected }) => (disconnected ? [] : [platform]));
    return new Map(
      (received.data.platforms ?? connected).map((platform) => {
        const terms = { received, platform, attempt: 1 };
        const attempt = { terms, since: moment, earlier: undefined };
        return [platform, { would: this.decide(attempt, { moment, optedOut: false }, this.rules) }];
      }),
    );
  }

  private compareOne(
    delivery: Delivery,
    received: ReceivedConversion,
    stream: readonly StoredEvent[],
  ): ComparedDelivery {
    const { platform } = delivery;
    let would: DeliveryOutcome | undefined;
    let since = momentOf(received);
    for (const [index, event] of stream.entries()) {
      if (!('platform' in event.data) || event.data.platform !== platform) continue;
      if (isOutcome(event)) {
        const before = foldDeliveries(stream.slice(0, index)).find((earlier) => earlier.platform === platform);
        // A status request sends nothing. Under the rules there is no attempt after one that ends the delivery.
        if (before?.last?.status !== 'accepted' && (would?.status ?? SENT) === SENT) {
          const attempt = {
            terms: termsOf(event.data, before, withReopenedVisit(received, stream, event.data.reopened)),
            since,
            recorded: event.data,
            earlier: before?.bodySha256,
          };
          const circumstances = this.circumstancesOf(attempt, momentOf(event));
          would = this.decide({ ...attempt, earlier: would?.bodySha256 }, circumstances, this.rules);
        }
      } else if (would?.status !== SENT || !('bodySha256' in event.data)) {
        // Another delivery, unless it is bound to what was sent.
        would = undefined;
      }
      since = momentOf(event);
    }
    if (delivery.last) return { was: summaryOf(delivery.last, delivery.bodySha256), would };
    return this.compareAwaited(delivery, withReopenedVisit(received, stream, delivery.reopened), since, would);
  }

  /** Not attempted yet: what the rules of the log decide counts as recorded. */
  private compareAwaited(
    { attempts, bodySha256, ...delivery }: Delivery,
    received: ReceivedConversion,
    since: Moment,
    would: DeliveryOutcome | undefined,
  ): ComparedDelivery {
    const terms = { ...delivery, bodySha256, received, attempt: attempts === 0 ? 1 : nextAttempt(attempts) };
    const circumstances = { moment: since, optedOut: false };
    return {
      was: this.decide({ terms, since, earlier: bodySha256 }, circumstances, NO_CHANGES),
      would: this.decide({ terms, since, earlier: would?.bodySha256 }, circumstances, this.rules),
    };
  }

  /** Under which the rules of the log explain the outcome; if none do, as of the outcome. */
  private circumstancesOf(attempt: Attempt, ended: Moment): Circumstances {
    const { terms, since, recorded, earlier } = attempt;
    const was = recorded && summaryOf(recorded, recorded.bodySha256 ?? earlier);
    const changes = [
      ...this.timeline.changes(since.timeMs - SETTINGS_DELAY_MS, ended.position),
      ...changesOfOrder(terms.received, since.position, ended.position),
    ].sort((one, other) => other.position - one.position);
    for (const optedOut of [false, true])
      for (const moment of [ended, ...changes, since]) {
        const would = this.decide(attempt, { moment, optedOut }, NO_CHANGES);
        if (was && isSame(was, would)) return { moment, optedOut };
      }
    return { moment: ended, optedOut: false };
  }

  private decide(
    { terms, recorded, earlier }: Attempt,
    { moment, optedOut }: Circumstances,
    rules: ShadowRules,
  ): DeliveryOutcome {
    const site = this.timeline.at(moment.position);
    const connection = site.connections.find((candidate) => candidate.platform === terms.platform);
    const platform = platformOfConnection(connection);
    if (site.removed || !platform || !connection || connection.disconnected) return summaryOf(DISCONNECTED, earlier);
    if (isOfEarlierSite(terms.received, site)) return summaryOf(DISCONNECTED, earlier);
    const target = {
      site: { settings: { ...site.settings, ...rules.site } },
      platform,
      siteConnection: withChanges(connection, rules.settings[terms.platform]),
    };
    const asOf = withOrderAsOf(terms.received, moment.position);
    const decided = optedOut ? { ...boundTerms(terms), received: withOptOut(asOf) } : { ...terms, received: asOf };
    const decision = decideAttempt(decided, target, moment.timeMs, this.ageRules);
    if ('status' in decision) return summaryOf(decision, decision.bodySha256 ?? earlier);
    if ('body' in decision) return { status: SENT, bodySha256: decision.bodySha256 };
    // It waits for its order: until when, the rules do not change.
    return summaryOf(recorded?.reason === 'gave_up' ? recorded : WAITS, earlier);
  }
}

const WAITS = { status: 'deferred' } as const;

/** A delivery counts as sent unless it was skipped, or failed without a payload. */
function summaryOf(
  { status, reason }: Pick<Outcome, 'status'> & { readonly reason?: string | undefined },
  bodySha256: string | undefined,
): DeliveryOutcome {
  if (status === 'validated') return { status, bodySha256 };
  const isUnsent = status === 'skipped' || (status === 'failed' && bodySha256 === undefined);
  return { status: isUnsent ? `${status}: ${reason}` : SENT, bodySha256 };
}

function isSame(was: DeliveryOutcome, would: DeliveryOutcome): boolean {
  if (was.status !== would.status) return false;
  return was.bodySha256 === undefined || would.bodySha256 === undefined || was.bodySha256 === would.bodySha256;
}

function momentOf({ position, time }: Pick<StoredEvent, 'position' | 'time'>): Moment {
  return { position, timeMs: Date.parse(time) };
}

/** What the attempt with this outcome was to send. */
function termsOf(outcome: Outcome, before: Delivery | undefined, received: ReceivedConversion): AttemptTerms {
  const { platform, attempt, eventId, payloadVersion, without, unknown, unknownSince } = outcome;
  return {
    ...{ received, platform, attempt, eventId, payloadVersion, without },
    asOf: asOfIn(outcome),
    bodySha256: before?.bodySha256,
    unknownSince: before?.unknownSince,
    // Recorded with an attempt that was bound when it began.
    maybeSentAt: unknown ? undefined : unknownSince,
  };
}

/** An attempt that the person's opt-out interrupts is bound to what the platform may have accepted in it. */
function boundTerms(terms: AttemptTerms): AttemptTerms {
  return { ...terms, optedOut: true, unknownSince: terms.unknownSince ?? terms.maybeSentAt };
}

/** A correction with its order as it was at a position. */
function withOrderAsOf(received: ReceivedConversion, position: number): ReceivedConversion {
  const { order } = received;
  if (!order) return received;
  const asOf = ({ opening, events }: OrderEntry) => ({
    opening,
    events: events.filter((event) => event.position <= position),
  });
  const corrections = order.corrections.filter(({ opening }) => opening.position <= position).map(asOf);
  return { ...received, order: { ...order, conversion: order.conversion && asOf(order.conversion), corrections } };
}

/** Before each event of a correction's order in a position range. */
function changesOfOrder({ order }: ReceivedConversion, after: number, until: number): Moment[] {
  const entries = order?.conversion ? [order.conversion, ...order.corrections] : (order?.corrections ?? []);
  return entries
    .flatMap(({ opening, events }) => [opening, ...events])
    .filter(({ position }) => position > after && position <= until)
    .map(({ position, time }) => ({ position: position - 1, timeMs: Date.parse(time) }));
}

function withChanges(
  connection: SiteConnection,
  changes: Readonly<Record<string, string>> | undefined,
): SiteConnection {
  if (!changes) return connection;
  const versions = connection.versions.map((version) => ({ ...version, settings: changed(version.settings, changes) }));
  return { ...connection, settings: changed(connection.settings, changes), versions };
}

function changed(settings: Readonly<Record<string, string>>, changes: Readonly<Record<string, string>>) {
  const next = { ...settings, ...changes };
  for (const [name, value] of Object.entries(changes)) if (value === '') delete next[name];
  return next;
}
