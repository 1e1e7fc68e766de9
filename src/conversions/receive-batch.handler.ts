import type { ICommandHandler } from '@nestjs/cqrs';
import type { DeliveryService } from '../delivery/delivery.service.js';
import type { Clock } from '../kernel/clock.js';
import { CommandHandler } from '../kernel/command.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { Shutdown } from '../kernel/shutdown.js';
import { pauseBetweenTurns } from '../kernel/turns.js';
import type { EventLog } from '../log/event-log.js';
import type { Matcher } from '../visitors/matcher.js';
import { ConversionReceiver, receivedOf } from './conversion-receiver.js';
import { ReceiveBatch } from './receive-batch.command.js';
import type { Received } from './receive-conversion.command.js';

/** Conversions that wait for one commit. A single request waits for at most one such slice of each batch in progress. */
const SLICE = 200;
/** No slice begins later: a sender that waits longer than this for its answer has usually given up. */
const BEGIN_WITHIN_MS = 10_000;

/**
 * Stores a batch, slice by slice, and starts its deliveries without waiting for them. Once the log is unavailable, or the service
 * is about to end, the rest of the batch is not attempted.
 */
@CommandHandler(ReceiveBatch)
export class ReceiveBatchHandler implements ICommandHandler<ReceiveBatch> {
  private readonly receiver: ConversionReceiver;

  constructor(
    log: EventLog,
    matcher: Matcher,
    private readonly deliveries: DeliveryService,
    clock: Clock,
    private readonly shutdown: Shutdown,
  ) {
    this.receiver = new ConversionReceiver(log, matcher, deliveries, clock);
  }

  async execute({ conversions }: ReceiveBatch): Promise<PromiseSettledResult<Received>[]> {
    const beginUntil = performance.now() + BEGIN_WITHIN_MS;
    const pause = pauseBetweenTurns();
    const results: PromiseSettledResult<Received>[] = [];
    let isAvailable = true;
    for (let start = 0; start < conversions.length; start += SLICE) {
      const slice = conversions.slice(start, start + SLICE);
      if (!isAvailable || this.shutdown.isUrgent || performance.now() > beginUntil) {
        results.push(...slice.map(() => NOT_ATTEMPTED));
        continue;
      }
      for (const stored of await this.receiver.receive(slice, pause)) {
        if (stored.status === 'rejected') {
          if (stored.reason instanceof LogUnavailable) isAvailable = false;
          results.push(stored);
          continue;
        }
        await pause();
        const { received } = stored.value;
        const queued = received ? this.deliveries.queue(received) : {};
        results.push({ status: 'fulfilled', value: receivedOf(stored.value, queued) });
      }
    }
    return results;
  }
}

const NOT_ATTEMPTED: PromiseSettledResult<Received> = {
  status: 'rejected',
  reason: new LogUnavailable('The rest of the batch was not attempted'),
};
