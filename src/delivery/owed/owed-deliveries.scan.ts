import { Inject, Injectable } from '@nestjs/common';
import { Poller } from '../../kernel/poller.js';
import { EventLog } from '../../log/event-log.js';
import { Lease } from '../../postgres/lease.js';
import { Postgres } from '../../postgres/postgres.js';
import { beforeArrived } from '../arrivals.js';
import { type AttemptWindow, WINDOW } from '../attempt-window.js';
import { DeliveryLeases } from '../delivery-leases.js';
import { type DueAttempt, LeasedAttempts } from '../leased-attempts.js';
import { PlatformDelivery } from '../platform-delivery.js';
import { type OwedDelivery, SCAN_LEASE, UnsettledConversions } from './owed.js';
import { readUnsettled } from './read-unsettled.js';

/** First attempts in flight at a time. Others wait in the log. */
const IN_FLIGHT_MAX = 1_000;
const TIDY_EVERY_MS = 60_000;

/**
 * Finds owed deliveries in the log: received conversions × platforms that have no outcome although the instance that received
 * the conversion may no longer attempt it, however that instance ended. One instance at a time scans, by a lease that also
 * stores how far everything is settled; two that scan at the same time do no harm, because each attempt has a delivery lease.
 */
@Injectable()
export class OwedDeliveriesScan {
  private lease: Lease | undefined;
  private unsettled = new UnsettledConversions(0, () => 0);
  /** Sites that arrived up to this position are read from their first event on. */
  private arrivedUpTo = 0;
  private readonly poller = new Poller(() => this.scan());
  private tidiedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly deliveries: PlatformDelivery,
    private readonly attempts: LeasedAttempts,
    private readonly leases: DeliveryLeases,
    @Inject(WINDOW) private readonly window: AttemptWindow,
  ) {}

  start(everyMs: number): void {
    this.poller.start(everyMs);
    this.poller.poll();
  }

  async stop(): Promise<void> {
    await this.poller.stop();
    // If the database is unavailable, the lease expires.
    await this.lease?.release().catch(() => {});
    this.lease = undefined;
  }

  /** Deliveries that are owed; undefined if another instance scans. */
  owed(): Iterable<OwedDelivery> | undefined {
    return this.lease?.held ? this.owedHere() : undefined;
  }

  /** Without those of sites that another cell acts for. */
  private *owedHere(): Generator<OwedDelivery> {
    for (const owed of this.unsettled.owed(performance.now())) if (this.deliveries.actsFor(owed.site)) yield owed;
  }

  private async scan(): Promise<void> {
    const lease = await this.heldLease();
    if (!lease) return;
    if (!(await this.hasNothingNew())) await this.readNew(lease);
    await this.deleteForgottenLeases();
  }

  /** Nothing was appended since the last scan, and every delivery has an outcome. */
  private async hasNothingNew(): Promise<boolean> {
    const { settledUpTo } = this.unsettled;
    return this.arrivedUpTo === settledUpTo && (await this.log.head()) === settledUpTo;
  }

  private async readNew(lease: Lease): Promise<void> {
    const head = await this.log.head();
    // After the head: a site that arrives after it is read again by the next scan.
    const arriving = await this.log.incompleteSites();
    await this.readArrivedAgain(lease, head);
    await readUnsettled(this.log, this.unsettled, head, () => {
      lease.reached = this.unsettled.settledUpTo;
      return lease.held && !this.poller.isStopping;
    });
    this.unsettled.forget((site) => arriving.has(site) || this.deliveries.hasLeft(site));
    lease.reached = this.unsettled.settledUpTo;
    await this.startOwed();
  }

  /** Goes back to the first events of sites that have arrived: while they were copied, their conversions were forgotten. */
  private async readArrivedAgain(lease: Lease, head: number): Promise<void> {
    const { settledUpTo } = this.unsettled;
    const before = await beforeArrived(this.log, settledUpTo, this.arrivedUpTo, head);
    if (before < settledUpTo) this.readFrom(lease, before);
    this.arrivedUpTo = head;
  }

  private readFrom(lease: Lease, reached: number): void {
    lease.reached = reached;
    this.unsettled = new UnsettledConversions(reached, (time) => this.owedAtMs(time));
  }

  private async heldLease(): Promise<Lease | undefined> {
    if (this.lease?.isLost) this.lease = undefined;
    if (!this.lease && !this.poller.isStopping) {
      this.lease = await Lease.take(this.postgres, SCAN_LEASE);
      if (this.lease) {
        this.readFrom(this.lease, this.lease.reached);
        this.arrivedUpTo = this.lease.reached;
      }
    }
    return this.lease?.held ? this.lease : undefined;
  }

  private owedAtMs(receivedMs: number): number {
    const ageMs = Math.max(0, this.postgres.clock.nowMs() - receivedMs);
    return performance.now() + Math.max(0, this.window.owedAfterMs - ageMs);
  }

  private async startOwed(): Promise<void> {
    // The age of a conversion is not known while the clock is distrusted.
    if (this.poller.isStopping || this.postgres.clock.refusal()) return;
    const max = IN_FLIGHT_MAX - this.attempts.inFlight;
    const due: DueAttempt[] = [];
    for (const owed of this.owedHere()) {
      if (due.length >= max) break;
      if (this.attempts.isFree(owed)) due.push(this.toAttempt(owed));
    }
    if (due.length > 0) await this.attempts.start(due);
  }

  private toAttempt({ conversion, platform }: OwedDelivery): DueAttempt {
    return {
      conversion,
      platform,
      position: 0,
      attempt: 1,
      start: (received, permit) => {
        // The instance that received the conversion may have sent it, and ended before it recorded the outcome.
        const request = { received, platform, attempt: 1, maybeSentAt: received.time };
        return this.deliveries.deliver({ ...request, mayDeliver: () => permit.mayStart });
      },
    };
  }

  private async deleteForgottenLeases(): Promise<void> {
    if (performance.now() - this.tidiedMs < TIDY_EVERY_MS) return;
    await this.leases.deleteForgotten();
    this.tidiedMs = performance.now();
  }
}
