import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { KafkaModule } from '../kafka/kafka.module.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Shutdown } from '../kernel/shutdown.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { type AttemptWindow, WINDOW } from './attempt-window.js';
import { Confirmations } from './confirmations.js';
import { AccessTokens } from './connections/access-tokens.js';
import { ConnectionLabels } from './connections/connection-labels.js';
import { Connections } from './connections/connections.js';
import { PlatformClient } from './connections/platform-client.js';
import { DatabaseTokenStore } from './connections/token-store.js';
import { DeliveryService } from './delivery.service.js';
import { DeliveryLeases } from './delivery-leases.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { LeasedAttempts } from './leased-attempts.js';
import { OwedDeliveriesScan } from './owed/owed-deliveries.scan.js';
import { OwedMetrics } from './owed/owed-metrics.js';
import { PlatformDelivery } from './platform-delivery.js';
import { RetryScheduler } from './retry.scheduler.js';

@Module({
  // Imported modules stop later: the Kafka relay still publishes the outcomes that deliveries record while they stop.
  imports: [CqrsModule, KafkaModule, SitesModule],
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
        return new AccessTokens(client, new DatabaseTokenStore(postgres, secrets, reload));
      },
      inject: [PlatformClient, Postgres, SiteSecrets, Connections],
    },
    ConnectionLabels,
    DeliveryMetrics,
    PlatformDelivery,
    Confirmations,
    { provide: WINDOW, useFactory: ({ intervals }: Settings) => intervals.attempts, inject: [SETTINGS] },
    {
      provide: DeliveryLeases,
      useFactory: (postgres: Postgres, window: AttemptWindow) => new DeliveryLeases(postgres, window),
      inject: [Postgres, WINDOW],
    },
    LeasedAttempts,
    DeliveryService,
    OwedDeliveriesScan,
    OwedMetrics,
    RetryScheduler,
  ],
  exports: [DeliveryService],
})
export class DeliveryModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly deliveries: DeliveryService,
    private readonly retryScheduler: RetryScheduler,
    private readonly scan: OwedDeliveriesScan,
    private readonly attempts: LeasedAttempts,
    private readonly shutdown: Shutdown,
    private readonly platformClient: PlatformClient,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { retryMs, scanMs } = this.settings.intervals;
    this.deliveries.start();
    this.retryScheduler.start(retryMs);
    this.scan.start(scanMs);
  }

  async onApplicationShutdown(): Promise<void> {
    const { shutdown, deliveries, attempts } = this;
    await shutdown.within(Promise.all([this.retryScheduler.stop(), this.scan.stop()]), 0.3);
    // An attempt whose outcome is not recorded is repeated by another instance, so wait for those in flight.
    await shutdown.until(() => deliveries.inFlightCount === 0 && attempts.inFlight === 0, 0.25);
    deliveries.stop();
    await shutdown.within(attempts.tidy(), 0.2);
    await shutdown.within(this.platformClient.close(), 0.2);
  }
}
