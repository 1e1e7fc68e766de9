import { Inject, Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Shutdown } from '../kernel/shutdown.js';
import { countAfter, withQueryTimeout } from '../log/event-reader.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { RecentEvents } from '../log/recent-events.js';
import { Postgres } from '../postgres/postgres.js';
import { usesKafka } from './kafka-settings.js';
import { ProjectionConsumer } from './projection-consumer.js';
import { Relay, type RelayState } from './relay.js';
import { holdLog, RelayProgressStore } from './relay-progress.js';

const LAG_COUNTED_TO = 1_000_000;
const SCRAPE_TIMEOUT_MS = 1_000;

/** The relay and the consumers of this instance. Does nothing if KAFKA_BROKERS is not set. */
@Injectable()
export class KafkaService {
  private readonly relay: Relay | undefined;
  private readonly consumers: readonly ProjectionConsumer[] = [];

  constructor(
    private readonly postgres: Postgres,
    @Inject(SETTINGS) settings: Settings,
    logger: Logger,
    registry: Registry,
    projections: ProjectionRunner,
    recent: RecentEvents,
  ) {
    if (!usesKafka(settings)) return;
    this.relay = new Relay(postgres, settings, logger, recent);
    this.consumers = projections.handOver().map((projection) => {
      return new ProjectionConsumer(postgres, settings, projection, projections, logger);
    });
    measureLag(postgres, settings.kafkaTopicPrefix, registry);
    measureRefusal(this.relay, registry);
  }

  /** State of this instance's relay. The service accepts conversions in every state. */
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

/** Read from the database, so that every instance reports the same value, whichever one publishes. */
function measureLag(postgres: Postgres, prefix: string, registry: Registry): void {
  new Gauge({
    name: 'cc_kafka_relay_lag_events',
    help: `Events in the log that are not on their topics yet, counted to ${LAG_COUNTED_TO}`,
    registers: [registry],
    async collect() {
      try {
        const source = withQueryTimeout(postgres.pool, SCRAPE_TIMEOUT_MS);
        const position = await new RelayProgressStore(postgres.pool, prefix).position();
        this.set(await countAfter(source, position, LAG_COUNTED_TO));
      } catch {
        // The database is unavailable: the gauge keeps its last value.
      }
    },
  });
}

function measureRefusal(relay: Relay, registry: Registry): void {
  new Gauge({
    name: 'cc_kafka_relay_refused',
    help: '1 if this instance cannot publish until an operator acts, else 0; /readyz has the reason',
    registers: [registry],
    collect() {
      this.set(relay.current.state === 'refused' ? 1 : 0);
    },
  });
}

@Module({ providers: [KafkaService], exports: [KafkaService] })
export class KafkaModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly kafka: KafkaService,
    private readonly shutdown: Shutdown,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.kafka.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shutdown.within(this.kafka.stop(), 0.15);
  }
}
