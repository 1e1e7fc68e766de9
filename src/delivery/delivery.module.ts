import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { KafkaModule } from '../kafka/kafka.module.js';
import { provideCommandHandler } from '../kernel/command-handler.provider.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { LogModule } from '../log/log.module.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { AccessTokens } from './access-tokens.js';
import { Confirmations } from './confirmations.js';
import { Connections } from './connections.js';
import { CrashRecovery } from './crash-recovery.js';
import { DeliveryService } from './delivery.service.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { PlatformClient } from './platform-client.js';
import { PlatformDelivery } from './platform-delivery.js';
import { ReplayDeliveriesHandler } from './replay-deliveries.handler.js';
import { RetryScheduler } from './retry.scheduler.js';
import { SagaRunner } from './saga-runner.js';
import { DatabaseTokenStore } from './token-store.js';

@Module({
  // Imported modules stop later: the Kafka relay still publishes the outcomes that deliveries record while they stop.
  imports: [CqrsModule, LogModule, KafkaModule, SitesModule],
  providers: [
    Connections,
    {
      provide: PlatformClient,
      useFactory: (settings: Settings) => new PlatformClient(settings.outboundAllowPrivate),
      inject: [SETTINGS],
    },
    {
      provide: AccessTokens,
      useFactory: (client: PlatformClient, postgres: Postgres, secrets: SiteSecrets, connections: Connections) => {
        const reload = connections.reload.bind(connections);
        return new AccessTokens(client, new DatabaseTokenStore(postgres.pool, postgres.clock, secrets, reload));
      },
      inject: [PlatformClient, Postgres, SiteSecrets, Connections],
    },
    DeliveryMetrics,
    PlatformDelivery,
    Confirmations,
    SagaRunner,
    CrashRecovery,
    DeliveryService,
    RetryScheduler,
    provideCommandHandler(ReplayDeliveriesHandler, [EventLog]),
  ],
  exports: [DeliveryService],
})
export class DeliveryModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly deliveries: DeliveryService,
    private readonly retryScheduler: RetryScheduler,
    private readonly platformClient: PlatformClient,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.deliveries.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.retryScheduler.stop();
    await this.deliveries.stop();
    await this.platformClient.close();
  }
}
