import { Injectable } from '@nestjs/common';
import { CONVERSION } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import type { StoredEvent } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import type { AttemptPermit } from './attempt-window.js';
import { isOutcome } from './delivery.js';
import { DeliverySaga, OutcomeRecorder, type SagaEnd } from './delivery.saga.js';
import { type DeliveryKey, DeliveryLeases, type HeldLease, keyOf } from './delivery-leases.js';
import { withOrder } from './payload/read-order.js';
import { type ReceivedConversion, withReopenedVisit } from './received-conversion.js';

const REFUSED_MAX = 10_000;
const NOT_IN_LOG = { status: 'failed', reason: 'no_longer_in_the_log' } as const;

export interface DueAttempt extends DeliveryKey {
  /** Position of the event that scheduled the attempt; 0 for a first attempt, which no event schedules. */
  readonly position: number;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** For a conversion that retention may have removed. */
  readonly site?: string | undefined;
  /** Version of the event in the stream that added the visit, if the visitor was identified later. */
  readonly reopened?: number | undefined;
  /** Sends the request, if `permit.mayStart`. Resolves with the outcome, or with undefined if nothing was sent. */
  start(received: ReceivedConversion, permit: AttemptPermit): Promise<Outcome | undefined>;
}

interface Stream {
  /** Undefined if retention has removed it. */
  received?: ReceivedConversion;
  readonly events: StoredEvent[];
}

interface LeasedAttempt {
  readonly attempt: DueAttempt;
  readonly permit: AttemptPermit;
  /** `recorded`: the lease is kept until the projection has folded the outcome. */
  state: 'sent' | 'recorded';
}

/**
 * Makes attempts that any instance may make: takes the delivery leases, checks in the log that the attempts are still due, and
 * records the outcomes. Every wait ends with the lease, so no delivery is forgotten.
 */
@Injectable()
export class LeasedAttempts {
  private readonly leased = new Map<string, LeasedAttempt>();
  /** Deliveries whose outcome the log refuses for good. Repeating the attempt would not help. */
  private readonly refused = new Set<string>();

  constructor(
    private readonly leases: DeliveryLeases,
    private readonly log: EventLog,
    private readonly logger: Logger,
  ) {}

  /** Deliveries that this process is carrying out. */
  get inFlight(): number {
    let count = 0;
    for (const { state } of this.leased.values()) if (state === 'sent') count += 1;
    return count;
  }

  /** Whether this process can take the delivery: it is not carrying it out already. */
  isFree(key: DeliveryKey): boolean {
    const name = keyOf(key);
    return !this.leased.has(name) && !this.refused.has(name);
  }

  /** Returns how many attempts were started. */
  async start(due: readonly DueAttempt[]): Promise<number> {
    const free = due.filter((attempt) => this.isFree(attempt));
    if (free.length === 0) return 0;
    const permits = await this.leases.take(free);
    const taken = [...permits.keys()];
    if (taken.length === 0) return 0;
    const streams = await this.readStreams(taken);
    const stale: HeldLease[] = [];
    let started = 0;
    for (const [attempt, permit] of permits) {
      const { received, events } = streams.get(attempt.conversion) as Stream;
      const site = received?.site ?? attempt.site;
      if (site === undefined || (received && !isStillDue(attempt, events))) stale.push({ ...attempt, permit });
      else {
        started += 1;
        this.startOne(attempt, permit, site, received, events);
      }
    }
    await this.leases.release(stale);
    return started;
  }

  /** Ends the leases of recorded attempts, and forgets those that have ended. */
  async tidy(): Promise<void> {
    for (const [name, { permit }] of this.leased) if (!permit.mayRecord) this.leased.delete(name);
    const recorded = [...this.leased.values()].flatMap(({ attempt, permit, state }) =>
      state === 'recorded' ? [{ ...attempt, permit }] : [],
    );
    for (const name of await this.leases.releaseRecorded(recorded)) this.leased.delete(name);
  }

  private startOne(
    attempt: DueAttempt,
    permit: AttemptPermit,
    site: string,
    received: ReceivedConversion | undefined,
    events: readonly StoredEvent[],
  ): void {
    const leased: LeasedAttempt = { attempt, permit, state: 'sent' };
    this.leased.set(keyOf(attempt), leased);
    const { version, position } = events.at(-1) ?? { version: 0, position: 0 };
    const { conversion: conversionId, platform, attempt: number } = attempt;
    const recorder = new OutcomeRecorder(this.log, { id: conversionId, site }, { version, position }, permit);
    const attempted = received
      ? attempt.start(received, permit)
      : Promise.resolve({ conversionId, platform, attempt: number, ...NOT_IN_LOG });
    void this.settle(leased, new DeliverySaga(recorder).run([attempted]));
  }

  /** What ended as owed is repeated after the lease, by any instance. Its outcome then counts. */
  private async settle(leased: LeasedAttempt, saga: Promise<SagaEnd>): Promise<void> {
    const name = keyOf(leased.attempt);
    try {
      const end = await saga;
      if (end === 'recorded') leased.state = 'recorded';
      if (end !== 'withdrawn') return;
    } catch (error) {
      this.refuse(name, leased.attempt, error);
      return;
    }
    this.leased.delete(name);
    // If the database is unavailable, the lease ends by itself.
    await this.leases.release([{ ...leased.attempt, permit: leased.permit }]).catch(() => {});
  }

  private refuse(name: string, { conversion, platform }: DueAttempt, error: unknown): void {
    if (this.refused.size < REFUSED_MAX) this.refused.add(name);
    this.logger.error('The outcome of a delivery is not recorded; it stays owed', {
      conversion,
      platform,
      error: messageOf(error),
    });
  }

  /** Each conversion with its stream. The personal parts of later events are read only where a visit was added. */
  private async readStreams(due: readonly DueAttempt[]) {
    const ids = [...new Set(due.map(({ conversion }) => conversion))];
    const openings = await this.log.readOpenings(CONVERSION, ids);
    const streams = new Map(ids.map((id) => [id, { events: [] } as Stream]));
    for (const event of await this.log.readStreams(CONVERSION, ids)) {
      streams.get(event.stream.slice(CONVERSION.length + 1))?.events.push(event);
    }
    for (const event of openings) {
      const stream = streams.get(event.stream.slice(CONVERSION.length + 1));
      if (stream && event.type === 'conversion.received.v1') stream.received = await withOrder(this.log, event);
    }
    for (const { conversion, reopened } of due) {
      const stream = streams.get(conversion);
      if (reopened === undefined || !stream?.received) continue;
      const events = await this.log.readStream(CONVERSION, conversion);
      streams.set(conversion, { received: withReopenedVisit(stream.received, events, reopened), events });
    }
    return streams;
  }
}

/** The projection and the scan lag behind the log, so the log decides: no event about the delivery followed. */
function isStillDue({ platform, position }: DueAttempt, events: readonly StoredEvent[]): boolean {
  return !events.some((event) => {
    if (event.position <= position || !('platform' in event.data) || event.data.platform !== platform) return false;
    // The projection does not read how a first attempt ended, so the attempt that it has scheduled stays due.
    return position === 0 || !isOutcome(event) || event.data.attempt > 1;
  });
}
