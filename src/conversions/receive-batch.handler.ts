import type { ICommandHandler } from '@nestjs/cqrs';
import type { DeliveryService } from '../delivery/delivery.service.js';
import { CommandHandler } from '../kernel/command.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { Shutdown } from '../kernel/shutdown.js';
import { type Pause, pauseBetweenTurns } from '../kernel/turns.js';
import { ReceiveBatch, type ReceiveConversion, type Received } from './receive-conversion.command.js';
import { ConversionReceiver, receivedOf, type StoredConversion } from './receive-conversion.handler.js';

/** Conversions that wait for one commit. A single request waits for at most one such slice of each batch in progress. */
const SLICE = 200;
/** No slice begins later: a sender that waits longer than this for its answer has usually given up. */
const BEGIN_WITHIN_MS = 10_000;

/**
 * Stores a batch, slice by slice, then starts its deliveries without waiting for them. Once the log is unavailable, or the service
 * is about to end, the rest of the batch is not attempted.
 */
@CommandHandler(ReceiveBatch)
export class ReceiveBatchHandler implements ICommandHandler<ReceiveBatch> {
  constructor(
    private readonly receiver: ConversionReceiver,
    private readonly deliveries: DeliveryService,
    private readonly shutdown: Shutdown,
  ) {}

  async execute({ conversions }: ReceiveBatch): Promise<PromiseSettledResult<Received>[]> {
    const pause = pauseBetweenTurns();
    const results: PromiseSettledResult<Received>[] = [];
    // After the last one is stored: deliveries would slow down the commits that the sender waits for.
    for (const stored of await this.storeAll(conversions, pause)) {
      await pause();
      results.push(stored.status === 'rejected' ? stored : { status: 'fulfilled', value: this.deliver(stored.value) });
    }
    return results;
  }

  private async storeAll(
    conversions: readonly ReceiveConversion[],
    pause: Pause,
  ): Promise<PromiseSettledResult<StoredConversion>[]> {
    const beginUntil = performance.now() + BEGIN_WITHIN_MS;
    const results: PromiseSettledResult<StoredConversion>[] = [];
    let isAvailable = true;
    for (let start = 0; start < conversions.length; start += SLICE) {
      const slice = conversions.slice(start, start + SLICE);
      const isAttempted = isAvailable && !this.shutdown.isUrgent && performance.now() <= beginUntil;
      const stored = isAttempted ? await this.receiver.receiveAll(slice, pause) : slice.map(() => NOT_ATTEMPTED);
      if (stored.some((each) => each.status === 'rejected' && each.reason instanceof LogUnavailable))
        isAvailable = false;
      results.push(...stored);
    }
    return results;
  }

  private deliver(stored: StoredConversion): Received {
    return receivedOf(stored, stored.received ? this.deliveries.queue(stored.received) : {});
  }
}

const NOT_ATTEMPTED: PromiseRejectedResult = {
  status: 'rejected',
  reason: new LogUnavailable('The rest of the batch was not attempted'),
};
