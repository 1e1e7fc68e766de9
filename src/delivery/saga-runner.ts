import { Inject, Injectable } from '@nestjs/common';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import type { Lease } from '../postgres/lease.js';
import type { Results } from './delivery.js';
import { DeliverySaga, type SagaEnd } from './delivery.saga.js';
import { PlatformDelivery } from './platform-delivery.js';
import type { ReceivedConversion } from './received-conversion.js';
import type { UnsettledConversion } from './unsettled.js';

/** Starts delivery sagas and keeps those in flight. */
@Injectable()
export class SagaRunner {
  /** Sagas of conversions received under the current instance lease, by position. */
  private readonly inFlight = new Map<number, DeliverySaga>();
  /** Sagas of conversions received by other instances, or by this process under a lease it has lost. */
  private readonly recovered = new Set<DeliverySaga>();
  private newest = 0;

  constructor(
    private readonly log: EventLog,
    private readonly deliveries: PlatformDelivery,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Delivers a conversion that this process has just received. */
  start(received: ReceivedConversion, lease: Lease, onEnd: (end: SagaEnd) => void): Promise<Results> {
    const { position, data } = received;
    this.newest = Math.max(this.newest, position);
    const saga = this.run({ received, platforms: data.platforms ?? [], version: 1 }, lease, (end) => {
      this.inFlight.delete(position);
      this.recovered.delete(saga);
      onEnd(end);
    });
    this.inFlight.set(position, saga);
    return saga.results();
  }

  /** Makes the missing deliveries of an unsettled conversion. */
  recover(conversion: UnsettledConversion, lease: Lease): Promise<SagaEnd> {
    return new Promise((resolve) => {
      const saga = this.run(conversion, lease, (end) => {
        this.recovered.delete(saga);
        resolve(end);
      });
      this.recovered.add(saga);
    });
  }

  tick(): void {
    const now = performance.now();
    for (const saga of this.inFlight.values()) saga.tick(now);
    for (const saga of this.recovered) saga.tick(now);
    this.deliveries.tick();
  }

  get inFlightCount(): number {
    return this.inFlight.size;
  }

  positionsInFlight(): Iterable<number> {
    return this.inFlight.keys();
  }

  /** Position up to which every conversion received under the current lease is settled. */
  get settledUpTo(): number {
    if (this.inFlight.size === 0) return this.newest;
    let oldest = Number.POSITIVE_INFINITY;
    for (const position of this.inFlight.keys()) oldest = Math.min(oldest, position);
    return oldest - 1;
  }

  /** A new lease covers the conversions after this position. */
  beginAfter(position: number): void {
    this.newest = position;
  }

  /** The lease is lost: respond to the senders, and finish without keeping the lease's progress back. */
  detach(): void {
    for (const saga of this.inFlight.values()) {
      saga.respondNow();
      this.recovered.add(saga);
    }
    this.inFlight.clear();
  }

  private run(conversion: UnsettledConversion, lease: Lease, onEnd: (end: SagaEnd) => void): DeliverySaga {
    const { received, platforms } = conversion;
    const { conversionId } = received.data;
    const ended = (end: SagaEnd) => {
      if (end === 'refused')
        this.logger.warn(
          `The log refused an outcome of conversion ${conversionId}; its recorded status does not change`,
        );
      onEnd(end);
    };
    const saga = new DeliverySaga(conversion, this.log, ended, this.settings.inboundDeadlineMs);
    for (const platform of platforms) {
      const mayDeliver = () => lease.held;
      this.deliveries.deliver({ received, platform, attempt: 1, mayDeliver }, (outcome) => {
        if (outcome) saga.settle(outcome);
        else saga.withdraw(platform);
      });
    }
    return saga;
  }
}
