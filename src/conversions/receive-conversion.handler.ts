import type { ICommandHandler } from '@nestjs/cqrs';
import type { DeliveryService } from '../delivery/delivery.service.js';
import type { Clock } from '../kernel/clock.js';
import { CommandHandler } from '../kernel/command.js';
import type { EventLog } from '../log/event-log.js';
import type { Matcher } from '../visitors/matcher.js';
import { ConversionReceiver, receivedOf } from './conversion-receiver.js';
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
    const stored = await this.receiver.receive(command);
    return receivedOf(stored, stored.received ? await this.deliveries.deliver(stored.received) : {});
  }
}
