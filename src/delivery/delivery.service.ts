import { Inject, Injectable } from '@nestjs/common';
import { AlignedInterval } from '../kernel/aligned-interval.js';
import { messageOf } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Shutdown } from '../kernel/shutdown.js';
import { EventLog } from '../log/event-log.js';
import { Postgres } from '../postgres/postgres.js';
import { type AttemptWindow, monotonicMs, permitFirstAttempts, WINDOW } from './attempt-window.js';
import { currentResults, type Results } from './delivery.js';
import { DeliverySaga, OutcomeRecorder } from './delivery.saga.js';
import { withOrder } from './payload/read-order.js';
import { PlatformDelivery } from './platform-delivery.js';
import { type ReceivedConversion, traceFieldsOf } from './received-conversion.js';

const TICK_MS = 200;
const TIMED_OUT = { status: 'deferred', reason: 'timeout' } as const;

/** Makes the first attempts to deliver the conversions that this process receives: one saga for each. */
@Injectable()
export class DeliveryService {
  private readonly inFlight = new Set<DeliverySaga>();
  private timer: AlignedInterval | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly deliveries: PlatformDelivery,
    private readonly logger: Logger,
    private readonly shutdown: Shutdown,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(WINDOW) private readonly window: AttemptWindow,
  ) {}

  /** Uses its own timer: @nestjs/schedule clears intervals before HTTP has drained, while sagas still need ticks. */
  start(): void {
    this.timer = new AlignedInterval(() => this.tick(), TICK_MS);
  }

  get inFlightCount(): number {
    return this.inFlight.size;
  }

  /** What is still in flight is found in the log by another instance, or by the next start. */
  stop(): void {
    this.timer?.stop();
  }

  /** Delivers a stored conversion. Resolves when all results are recorded, or when the sender's deadline has passed. */
  async deliver(received: ReceivedConversion): Promise<Results> {
    const { platforms = [], conversionId } = received.data;
    if (platforms.length === 0) return {};
    if (received.data.correction && !received.order) return this.deliverCorrection(received);
    const { site, position } = received;
    const [receivedMs, nowMs] = [Date.parse(received.time), this.postgres.clock.nowMs()];
    const permit = permitFirstAttempts(receivedMs, nowMs, this.window);
    const decidedMs = monotonicMs(receivedMs, nowMs);
    const mayDeliver = () => permit.mayStart;
    const recorder = new OutcomeRecorder(this.log, { id: conversionId, site }, { version: 1, position }, permit);
    const saga = new DeliverySaga(recorder, performance.now() + this.settings.inboundDeadlineMs);
    this.inFlight.add(saga);
    void saga
      .run(
        platforms.map((platform) => this.deliveries.deliver({ received, platform, attempt: 1, decidedMs, mayDeliver })),
      )
      .catch((error: unknown) => {
        const fields = { error: messageOf(error), ...traceFieldsOf(received) };
        this.logger.error(`An outcome of conversion ${conversionId} is not recorded; the delivery stays owed`, fields);
      })
      .finally(() => this.inFlight.delete(saga));
    await saga.response;
    return currentResults(received.data, (platform) => saga.outcomes.get(platform) ?? TIMED_OUT);
  }

  /** Starts the delivery of a stored conversion. What exceeds the queues in memory is deferred, and read from the log later. */
  queue(received: ReceivedConversion): Results {
    this.deliver(received).catch((error: unknown) => {
      // Owed, so the scan of the log finds it.
      const fields = { error: messageOf(error), ...traceFieldsOf(received) };
      this.logger.error('Starting the delivery of a conversion failed', fields);
    });
    return queuedResults(received);
  }

  /** If its order cannot be read, the deliveries are owed, and found in the log. */
  private async deliverCorrection(received: ReceivedConversion): Promise<Results> {
    const correction = await withLogTimeout(withOrder(this.log, received)).catch(() => undefined);
    return correction ? this.deliver(correction) : queuedResults(received);
  }

  private tick(): void {
    // Before the shutdown ends, senders get their receipts without waiting for slow platforms: the conversions are stored.
    const now = this.shutdown.isUrgent ? Number.POSITIVE_INFINITY : performance.now();
    for (const saga of this.inFlight) saga.tick(now);
    this.deliveries.tick();
  }
}

function queuedResults({ data }: ReceivedConversion): Results {
  return currentResults(data, () => undefined);
}
