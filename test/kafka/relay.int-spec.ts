import { Checkpoints } from '../../src/kafka/checkpoint.js';
import { usesKafka } from '../../src/kafka/client.js';
import { Relay } from '../../src/kafka/relay.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { readSettings } from '../../src/kernel/settings.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { EventLog } from '../../src/log/event-log.js';
import { shardOf } from '../../src/log/shard.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { judge, NOTHING_WRONG, readTopics, startTestBrokers, type TestBrokers, until } from '../support/kafka.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';

const NOUNS = ['conversion', 'visitor', 'site', 'auth', 'outbound'];
const missing = missingForBroker();
if (missing) console.warn(`LEFT OUT: everything about Kafka. ${missing}.`);

(missing ? describe.skip : describe)('the relay', () => {
  let server: TestServer;
  let brokers: TestBrokers;
  let postgres: Postgres;
  let log: EventLog;
  let made = 0;
  let prefix: string;
  const running = new Set<Relay>();

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startTestBrokers()]);
  }, 120_000);
  afterAll(async () => {
    await brokers?.remove();
    await server?.stop();
  }, 60_000);

  beforeEach(async () => {
    postgres = await openDatabase(await createDatabase(server));
    log = new EventLog(postgres);
    made += 1;
    prefix = `t${made}.`;
  });
  afterEach(async () => {
    await Promise.all([...running].map((relay) => relay.stop()));
    running.clear();
    await log.close();
    await postgres.close();
  });

  const topics = () => ['conversions', 'visitors', 'sites', 'auth', 'outbound'].map((name) => `${prefix}${name}`);
  const startRelay = (environment: Record<string, string> = {}) => {
    const settings = readSettings({
      KAFKA_BROKERS: brokers.brokers,
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_PARTITIONS: '3',
      ...environment,
    });
    if (!usesKafka(settings)) throw new Error('not configured');
    const relay = new Relay(postgres, settings, new Logger('silent'));
    relay.start();
    running.add(relay);
    return relay;
  };
  const append = (noun: string, data: object = {}, stream = uuidv7(), expected: 'new' | 'any' = 'new') =>
    log.append({
      noun,
      stream,
      expected,
      site: 'shop.example',
      actor: 'system',
      events: [{ type: `${noun}.happened.v1`, data, personal: { subject: 'ab'.repeat(32) } }],
    });
  const appendMany = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, at) => append(NOUNS[at % 5] as string)));
  const published = async () => {
    const head = await log.head();
    const checkpoints = new Checkpoints(postgres.pool, prefix);
    await until(
      async () => (await checkpoints.position()) === head,
      () => `not published: ${JSON.stringify([...running].map(({ current }) => current))}`,
      40_000,
    );
  };
  const due = async () => (await log.read()).map(({ position }) => position);

  it('publishes what is in the log by the contract: topic, key, value, headers, order, and nothing personal', async () => {
    const stream = uuidv7();
    for (let turn = 0; turn < 5; turn += 1)
      await append('conversion', { turn, text: 'ä "quoted" \u2028' }, stream, 'any');
    await appendMany(200);
    startRelay({ CELL: 'eu-1' });
    await published();
    const records = await readTopics(brokers.kafka, topics());
    expect(judge(records, await due())).toEqual(NOTHING_WRONG);

    const events = new Map((await log.read()).map((event) => [event.position, event]));
    for (const { key, value, headers, topic, partition, position } of records) {
      const event = events.get(position);
      expect(JSON.parse(value)).toEqual(event?.data);
      expect(key).toBe(event?.stream);
      expect(headers).toEqual({
        'content-type': 'application/json',
        ce_specversion: '1.0',
        ce_id: event?.id,
        ce_type: event?.type,
        ce_source: '/clean-conversions/eu-1',
        ce_subject: event?.stream,
        ce_time: event?.time,
        cc_position: String(position),
        cc_site: 'shop.example',
        cc_version: String(event?.version),
      });
      expect(topic).toBe(
        `${prefix}${{ auth: 'auth', outbound: 'outbound' }[key.split('-')[0] as string] ?? `${key.split('-')[0]}s`}`,
      );
      expect(partition).toBe(shardOf(key, 3));
    }
    expect(records.map(({ value, headers }) => value + JSON.stringify(headers)).join()).not.toContain('ab'.repeat(32));
    expect(
      records.filter(({ key }) => key === `conversion-${stream}`).map(({ value }) => JSON.parse(value).turn),
    ).toEqual([0, 1, 2, 3, 4]);
  }, 60_000);
});
