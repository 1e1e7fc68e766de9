import { Checkpoints } from '../../src/kafka/checkpoint.js';
import { type KafkaSettings, usesKafka } from '../../src/kafka/client.js';
import { Relay } from '../../src/kafka/relay.js';
import { PUBLISHED_CATEGORIES, topicOf } from '../../src/kafka/topics.js';
import { Logger } from '../../src/kernel/logger.js';
import { readSettings } from '../../src/kernel/settings.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from './databases.js';
import { type TestBrokers, until } from './kafka.js';
import type { TestServer } from './postgres-server.js';

interface AppendOptions {
  readonly data?: object;
  readonly site?: string;
  readonly stream?: string;
  readonly expected?: 'new' | 'any';
}

let opened = 0;

/** A log in a database of its own, and whatever publishes it under a prefix of its own. One for each test. */
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
    opened += 1;
    this.prefix = `t${opened}.`;
  }

  static async open(server: TestServer, { brokers }: Pick<TestBrokers, 'brokers'>): Promise<RelayedLog> {
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

  settings(environment: Record<string, string> = {}): KafkaSettings {
    const where = { KAFKA_BROKERS: this.brokers, KAFKA_TOPIC_PREFIX: this.prefix, KAFKA_PARTITIONS: '3' };
    const settings = readSettings({ ...where, ...environment });
    if (!usesKafka(settings)) throw new Error('not configured');
    return settings;
  }

  startRelay(environment: Record<string, string> = {}, logger = new Logger('silent')): Relay {
    return this.start(new Relay(this.postgres, this.settings(environment), logger));
  }

  /** Stopped at the end of the test, if not before. */
  start<Started extends { start(): void; stop(): Promise<void> }>(one: Started): Started {
    one.start();
    this.started.add(one);
    return one;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.started].map((one) => one.stop()));
    this.started.clear();
  }

  async append(category: string, options: AppendOptions = {}): Promise<void> {
    const { data = {}, site = 'shop.example', stream = uuidv7(), expected = 'new' } = options;
    const event = { type: `${category}.happened.v1`, data, personal: { subject: 'ab'.repeat(32) } };
    await this.log.append({ category, stream, expected, site, actor: 'system', events: [event] });
  }

  /** Of every category in turns. */
  async appendMany(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, (_, at) =>
        this.append(PUBLISHED_CATEGORIES[at % PUBLISHED_CATEGORIES.length] as string),
      ),
    );
  }

  /** Until everything that is in the log now is on its topics. */
  async published(): Promise<void> {
    const head = await this.log.head();
    const checkpoints = new Checkpoints(this.postgres.pool, this.prefix);
    const states = () => [...this.started].map((one) => (one instanceof Relay ? one.current : undefined));
    await until(
      async () => (await checkpoints.position()) === head,
      () => `not published: ${JSON.stringify(states())}`,
      40_000,
    );
  }

  /** The positions that readers of the topics must see. */
  async due(): Promise<number[]> {
    return (await this.log.read()).map(({ position }) => position);
  }
}
