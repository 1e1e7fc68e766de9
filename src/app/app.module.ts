import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { CheckpointsModule } from '../checkpoints/checkpoints.module.js';
import { ConversionsModule } from '../conversions/conversions.module.js';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { KafkaModule } from '../kafka/kafka.module.js';
import { ForwardingModule } from '../moves/forwarding.module.js';
import { OperationsModule } from '../operations/operations.module.js';
import { PlainTextErrors } from '../operations/plain-text-errors.filter.js';
import { OutboundModule } from '../outbound/outbound.module.js';
import { SitesModule } from '../sites/sites.module.js';
import { VisitorsModule } from '../visitors/visitors.module.js';
import { AlertsModule } from './alerts/alerts.module.js';
import { type Kernel, KernelModule } from './kernel.module.js';
import { ManagementCleaning } from './management-cleaning.js';
import { RetentionScheduler } from './retention.scheduler.js';

/**
 * Each module starts and stops its own services, in `onApplicationBootstrap` and `onApplicationShutdown`. Nest starts a
 * module after all modules it imports and stops it before them, once HTTP has closed. A module must therefore import every
 * module whose services it uses; only modules without a lifecycle, and the kernel, are global.
 */
@Module({
  imports: [
    ScheduleModule.forRoot(),
    SitesModule,
    KafkaModule,
    CheckpointsModule,
    DeliveryModule,
    VisitorsModule,
    ConversionsModule,
    OutboundModule,
    ForwardingModule,
    OperationsModule,
    AlertsModule,
  ],
  providers: [ManagementCleaning, RetentionScheduler, { provide: APP_FILTER, useClass: PlainTextErrors }],
})
export class AppModule {
  static with(kernel: Kernel): DynamicModule {
    return { module: AppModule, imports: [KernelModule.with(kernel)] };
  }
}
