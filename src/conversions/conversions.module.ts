import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { DeliveryService } from '../delivery/delivery.service.js';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { provideCommandHandler } from '../kernel/command-handler.provider.js';
import { Shutdown } from '../kernel/shutdown.js';
import { EventLog } from '../log/event-log.js';
import { SitesModule } from '../sites/sites.module.js';
import { Matcher } from '../visitors/matcher.js';
import { VisitorsModule } from '../visitors/visitors.module.js';
import { DedupClaimPruner } from './dedup-claim-pruner.js';
import { InboundEndpoint } from './inbound/inbound.endpoint.js';
import { InboundBatch } from './inbound/inbound-batch.js';
import { InboundMetrics } from './inbound/inbound-metrics.js';
import { Receipts } from './receipts.js';
import { ReceiveBatchHandler } from './receive-batch.handler.js';
import { ConversionReceiver, ReceiveConversionHandler } from './receive-conversion.handler.js';
import { Rejections } from './rejections.js';
import { RefusedDeliveries } from './sources/refused-deliveries.js';
import { SourceMetrics } from './sources/source-metrics.js';
import { SourcesEndpoint } from './sources/sources.endpoint.js';

@Module({
  imports: [CqrsModule, SitesModule, DeliveryModule, VisitorsModule],
  providers: [
    InboundEndpoint,
    Rejections,
    SourcesEndpoint,
    SourceMetrics,
    RefusedDeliveries,
    InboundBatch,
    InboundMetrics,
    Receipts,
    DedupClaimPruner,
    {
      provide: ConversionReceiver,
      useFactory: (log: EventLog, matcher: Matcher, clock: Clock) => new ConversionReceiver(log, matcher, clock),
      inject: [EventLog, Matcher, CLOCK],
    },
    provideCommandHandler(ReceiveConversionHandler, [ConversionReceiver, DeliveryService]),
    provideCommandHandler(ReceiveBatchHandler, [ConversionReceiver, DeliveryService, Shutdown]),
  ],
})
export class ConversionsModule {}
