import { Inject, Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { countAfter, withQueryTimeout } from '../log/event-reader.js';
import { LogModule } from '../log/log.module.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { Checkpoints, holdLog } from './checkpoint.js';
import { usesKafka } from './client.js';
import { ConsumerSource } from './consumer-source.js';
import { Relay, type RelayState } from './relay.js';

const LAG_COUNTED_TO = 1_000_000;
const SCRAPE_WAITS_MS = 1_000;

/** Everything about Kafka that runs with the service. Where KAFKA_BROKERS is not set, that is nothing. */
@Injectable()
export class KafkaConnection {
  private readonly relay: Relay | undefined;
  private readonly consumers: readonly ConsumerSource[] = [];

  constructor(
    private readonly postgres: Postgres,
    @Inject(SETTINGS) settings: Settings,
    logger: Logger,
    registry: Registry,
    projections: ProjectionRunner,
  ) {
    if (!usesKafka(settings)) return;
    this.relay = new Relay(postgres, settings, logger);
    this.consumers = projections.handOver().map((projection) => {
      return new ConsumerSource(postgres, settings, projection, projections, logger);
    });
    measureLag(postgres, settings.kafkaTopicPrefix, registry);
  }

  /** What this instance does about it; nothing of it ever keeps the service from taking conversions. */
  get state(): RelayState | { readonly state: 'not configured' } {
    return this.relay?.current ?? { state: 'not configured' };
  }

  async start(): Promise<void> {
    await holdLog(this.postgres.pool, this.relay !== undefined);
    this.relay?.start();
    for (const consumer of this.consumers) consumer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
    await this.relay?.stop();
  }
}

/** Asked of the database, so that every instance tells the same, whichever of them publishes. */
function measureLag(postgres: Postgres, prefix: string, registry: Registry): void {
  new Gauge({
    name: 'cc_kafka_relay_lag_events',
    help: `Events in the log that are not on their topics yet, counted to ${LAG_COUNTED_TO}`,
    registers: [registry],
    async collect() {
      try {
        const source = withQueryTimeout(postgres.pool, SCRAPE_WAITS_MS);
        const position = await new Checkpoints(postgres.pool, prefix).position();
        this.set(await countAfter(source, position, LAG_COUNTED_TO));
      } catch {
        // The database is away: what was known last stands.
      }
    },
  });
}

@Module({ imports: [LogModule], providers: [KafkaConnection], exports: [KafkaConnection] })
export class KafkaModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly kafka: KafkaConnection) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.kafka.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.kafka.stop();
  }
}
