import type { ICommandHandler } from '@nestjs/cqrs';
import type { DeliveryService } from '../delivery/delivery.service.js';
import type { Clock } from '../kernel/clock.js';
import { CommandHandler } from '../kernel/command.js';
import type { EventLog } from '../log/event-log.js';
import type { Matcher } from '../visitors/matcher.js';
import { ConversionReceiver, receivedOf, type StoredConversion } from './conversion-receiver.js';
import { ReceiveConversion, type Received } from './receive-conversion.command.js';

/** Stores one conversion and waits for its deliveries. */
@CommandHandler(ReceiveConversion)
export class ReceiveConversionHandler implements ICommandHandler<ReceiveConversion> {
  private readonly receiver: ConversionReceiver;

  constructor(
    log: EventLog,
    matcher: Matcher,
    private readonly deliveries: DeliveryService,
    clock: Clock,
  ) {
    this.receiver = new ConversionReceiver(log, matcher, deliveries, clock);
  }

  async execute(command: ReceiveConversion): Promise<Received> {
    const [result] = (await this.receiver.receive([command])) as [PromiseSettledResult<StoredConversion>];
    if (result.status === 'rejected') throw result.reason;
    const { received } = result.value;
    return receivedOf(result.value, received ? await this.deliveries.deliver(received) : {});
  }
}
