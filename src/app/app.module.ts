import { type DynamicModule, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { ConversionsModule } from '../conversions/conversions.module.js';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { Dispatcher } from '../delivery/dispatcher.js';
import { Retries } from '../delivery/retries.js';
import { Wires } from '../delivery/wires.js';
import { KafkaModule, KafkaService } from '../kafka/kafka.module.js';
import { EventLog } from '../log/event-log.js';
import { LogModule } from '../log/log.module.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { OperationsModule } from '../operations/operations.module.js';
import { PlainTextErrors } from '../operations/plain-text-errors.filter.js';
import { OutboundModule } from '../outbound/outbound.module.js';
import { OutboundSync } from '../outbound/outbound-sync.js';
import { Postgres } from '../postgres/postgres.js';
import { SitesModule } from '../sites/sites.module.js';
import { LateMatches } from '../visitors/late-matches.js';
import { Matcher } from '../visitors/matcher.js';
import { VisitorsModule } from '../visitors/visitors.module.js';
import { type Kernel, KernelModule } from './kernel.module.js';
import { ProjectionsModule } from './projections.module.js';

@Module({
  imports: [
    ScheduleModule.forRoot(),
    LogModule,
    SitesModule,
    ProjectionsModule,
    KafkaModule,
    DeliveryModule,
    VisitorsModule,
    ConversionsModule,
    OutboundModule,
    OperationsModule,
  ],
  providers: [{ provide: APP_FILTER, useClass: PlainTextErrors }],
})
export class AppModule implements OnApplicationBootstrap, OnApplicationShutdown {
  static with(kernel: Kernel): DynamicModule {
    return { module: AppModule, imports: [KernelModule.with(kernel)] };
  }

  constructor(
    private readonly lateMatches: LateMatches,
    private readonly matcher: Matcher,
    private readonly outbound: OutboundSync,
    private readonly retries: Retries,
    private readonly dispatcher: Dispatcher,
    private readonly wires: Wires,
    private readonly kafka: KafkaService,
    private readonly projections: ProjectionRunner,
    private readonly log: EventLog,
    private readonly postgres: Postgres,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.projections.start();
    await this.kafka.start();
  }

  /** After HTTP has closed, and from the top down: nobody loses what he stands on while he still works. */
  async onApplicationShutdown(): Promise<void> {
    await this.lateMatches.stop();
    await this.matcher.close();
    await this.outbound.stop();
    await this.retries.stop();
    await this.dispatcher.stop();
    await this.wires.close();
    await this.kafka.stop();
    await this.projections.stop();
    await this.log.close();
    await this.postgres.close();
  }
}
