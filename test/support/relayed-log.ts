import { randomBytes } from 'node:crypto';
import { type KafkaSettings, usesKafka } from '../../src/kafka/kafka-settings.js';
import { Relay } from '../../src/kafka/relay.js';
import { RelayProgressStore } from '../../src/kafka/relay-progress.js';
import { PUBLISHED_CATEGORIES, topicOf } from '../../src/kafka/topics.js';
import { Logger } from '../../src/kernel/logger.js';
import { readSettings, type Settings } from '../../src/kernel/settings/settings.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, type DatabaseServer, openDatabase } from './databases.js';
import { type TestBrokers, waitUntil } from './kafka.js';

interface AppendOptions {
  readonly data?: object;
  readonly site?: string;
  readonly stream?: string;
  readonly expected?: 'new' | 'any';
}

/** A log in its own database, and the relays that publish it under its own topic prefix. One per test. */
export class RelayedLog {
  log: EventLog;
  prefix: string;
  private readonly started = new Set<{ stop(): Promise<void> }>();

  private constructor(
    private readonly brokers: string,
    readonly databaseUrl: string,
    readonly postgres: Postgres,
  ) {
    this.log = new PostgresEventLog(postgres);
    this.prefix = `t${randomBytes(4).toString('hex')}.`;
  }

  static async open({ brokers }: Pick<TestBrokers, 'brokers'>, server?: DatabaseServer): Promise<RelayedLog> {
    const databaseUrl = await createDatabase(server);
    return new RelayedLog(brokers, databaseUrl, await openDatabase(databaseUrl));
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.log.close();
    await this.postgres.close();
  }

  get topics(): string[] {
    return PUBLISHED_CATEGORIES.map((category) => topicOf(this.prefix, category));
  }

  settings(environment: Record<string, string> = {}): KafkaSettings & Pick<Settings, 'intervals'> {
    const defaults = { KAFKA_BROKERS: this.brokers, KAFKA_TOPIC_PREFIX: this.prefix, KAFKA_PARTITIONS: '3' };
    const settings = readSettings({ ...defaults, ...environment });
    if (!usesKafka(settings)) throw new Error('Kafka is not configured');
    return { ...settings, intervals: { ...settings.intervals, relayMs: 50 } };
  }

  startRelay(environment: Record<string, string> = {}, logger = new Logger('silent')): Relay {
    return this.start(new Relay(this.postgres, this.settings(environment), logger));
  }

  /** Stopped at the end of the test, if not before. */
  start<Component extends { start(): void; stop(): Promise<void> }>(component: Component): Component {
    component.start();
    this.started.add(component);
    return component;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.started].map((component) => component.stop()));
    this.started.clear();
  }

  async append(category: string, options: AppendOptions = {}): Promise<void> {
    const { data = {}, site = 'shop.example', stream = uuidv7(), expected = 'new' } = options;
    const event = { type: `${category}.happened.v1`, data, personal: { subject: 'ab'.repeat(32) } };
    await this.log.append({ category, stream, expected, site, actor: 'system', events: [event] });
  }

  /** Appends events of all categories in turn. */
  async appendMany(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, (_, at) =>
        this.append(PUBLISHED_CATEGORIES[at % PUBLISHED_CATEGORIES.length] as string),
      ),
    );
  }

  /** Appends events, and publishes them with a relay that stops then. */
  async publishMany(count: number): Promise<void> {
    await this.appendMany(count);
    const relay = this.startRelay();
    await this.published();
    await relay.stop();
  }

  /** Waits until every event that is in the log now is on its topic. */
  async published(): Promise<void> {
    const head = await this.log.head();
    const checkpoints = new RelayProgressStore(this.postgres.pool, this.prefix);
    const states = () =>
      [...this.started].map((component) => (component instanceof Relay ? component.current : undefined));
    await waitUntil(
      async () => (await checkpoints.position()) === head,
      () => `not published: ${JSON.stringify(states())}`,
      40_000,
    );
  }

  /** The positions that readers of the topics must receive. */
  async expectedPositions(): Promise<number[]> {
    return (await this.log.read()).map(({ position }) => position);
  }
}
