import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { DispatchModule } from '../dispatch/dispatch.module.js';
import { SitesModule } from '../sites/sites.module.js';
import { VisitorsModule } from '../visitors/visitors.module.js';
import { ClaimPruner } from './claim-pruner.js';
import { InboundEndpoint } from './inbound.endpoint.js';
import { InboundMetrics } from './inbound-metrics.js';
import { Receipts } from './receipts.js';
import { ReceiveConversionHandler } from './receive-conversion.js';

@Module({
  imports: [CqrsModule, SitesModule, DispatchModule, VisitorsModule],
  providers: [InboundEndpoint, InboundMetrics, Receipts, ReceiveConversionHandler, ClaimPruner],
})
export class ConversionsModule {}
