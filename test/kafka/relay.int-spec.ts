import { Checkpoints, holdLog } from '../../src/kafka/checkpoint.js';
import { usesKafka } from '../../src/kafka/client.js';
import { openRelaySession } from '../../src/kafka/open-session.js';
import { Relay } from '../../src/kafka/relay.js';
import { TopicPublisher } from '../../src/kafka/topic-publisher.js';
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
  const settingsOf = (environment: Record<string, string> = {}) => {
    const where = { KAFKA_BROKERS: brokers.brokers, KAFKA_TOPIC_PREFIX: prefix, KAFKA_PARTITIONS: '3' };
    const settings = readSettings({ ...where, ...environment });
    if (!usesKafka(settings)) throw new Error('not configured');
    return settings;
  };
  const startRelay = (environment: Record<string, string> = {}) => {
    const relay = new Relay(postgres, settingsOf(environment), new Logger('silent'));
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

  it('publishes nothing twice when it did not get to writing down how far it had come', async () => {
    await appendMany(300);
    const relay = startRelay();
    await published();
    await relay.stop();
    await postgres.pool.query(`UPDATE cc.kafka_relay SET position = 0, published = '{}'`);
    await appendMany(300);
    startRelay();
    await published();
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('gives a topic again what it has lost, and the others nothing', async () => {
    await appendMany(200);
    const relay = startRelay();
    await published();
    await relay.stop();
    const admin = brokers.kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${prefix}visitors`] });
    await until(async () => !(await admin.listTopics()).includes(`${prefix}visitors`));
    await admin.disconnect();
    await append('visitor');
    startRelay();
    await published();
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('lets only the newest session publish: an older one that wakes up is refused, and leaves nothing behind', async () => {
    const settings = settingsOf();
    const older = await openRelaySession(postgres, settings, new Logger('silent'));
    await appendMany(100);
    expect(await older.publishPage(50)).toBe(50);
    const newer = await openRelaySession(postgres, settings, new Logger('silent'));
    await expect(older.publishPage(50)).rejects.toThrow();
    expect(await newer.publishPage(1_000)).toBe(50);
    older.drop();
    newer.drop();
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('looks past what was taken back and what was never ended, however much it is', async () => {
    await appendMany(100);
    const relay = startRelay();
    await published();
    await relay.stop();
    const leftOpen = async () => {
      const producer = brokers.kafka.producer({ transactionalId: `${prefix}relay`, idempotent: true });
      await producer.connect();
      const transaction = await producer.transaction();
      const messages = Array.from({ length: 700 }, (_, at) => ({
        value: '{}',
        partition: at % 3,
        headers: { cc_position: String(1_000_000 + at), ce_id: 'never' },
      }));
      for (const topic of topics()) await transaction.send({ topic, messages });
      return { producer, transaction };
    };
    // One that took back what it had sent, and one that died in the middle.
    const { producer, transaction } = await leftOpen();
    await transaction.abort();
    const dead = await leftOpen();
    await Promise.all([producer.disconnect(), dead.producer.disconnect()]);
    await appendMany(100);
    await postgres.pool.query(`UPDATE cc.kafka_relay SET position = 0, published = '{}'`);
    startRelay();
    await published();
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('gives the whole history to a new prefix', async () => {
    await appendMany(100);
    const relay = startRelay();
    await published();
    await relay.stop();
    prefix = `${prefix}again.`;
    startRelay();
    await published();
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('refuses, by name, a topic whose partition count was changed', async () => {
    await append('conversion');
    const relay = startRelay();
    await published();
    await relay.stop();
    const admin = brokers.kafka.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: `${prefix}sites`, count: 4 }] });
    await admin.disconnect();
    const again = startRelay();
    await until(() => again.current.state === 'refused');
    expect(again.current.reason).toMatch(new RegExp(`^Topic ${prefix}sites has 4 partitions and was made with 3`));
  }, 60_000);

  describe('on a database that came back from the past', () => {
    /** Events that Kafka has and the log has not: they were in the tail that was lost. */
    const publishLostTail = async () => {
      await appendMany(100);
      const relay = startRelay();
      await published();
      await relay.stop();
      const producer = brokers.kafka.producer({ transactionalId: `${prefix}relay`, idempotent: true });
      await producer.connect();
      const transaction = await producer.transaction();
      const beyond = (await log.head()) + 500;
      const messages = [0, 1, 2].map((partition) => ({
        value: '{}',
        partition,
        headers: { cc_position: String(beyond + partition), ce_id: 'lost' },
      }));
      for (const topic of topics()) await transaction.send({ topic, messages });
      await transaction.commit();
      await producer.disconnect();
      return beyond;
    };

    it('skips nothing new after a fail-over that was noticed, also when it starts again later', async () => {
      const lost = await publishLostTail();
      const before = await due();
      await postgres.pool.query(`UPDATE cc.lineage SET timeline = '000000ff'`);
      await postgres.pool.query(`UPDATE cc.kafka_relay SET timeline = '000000ff'`);
      await log.close();
      log = new EventLog(postgres);
      await appendMany(30);
      const relay = startRelay();
      await published();
      await relay.stop();
      await appendMany(30);
      startRelay();
      await published();
      const news = (await due()).filter((position) => !before.includes(position));
      expect(news).toHaveLength(60);
      expect(Math.min(...news)).toBeGreaterThan(lost);
      const records = (await readTopics(brokers.kafka, topics())).filter(({ headers }) => headers['ce_id'] !== 'lost');
      expect(judge(records, await due())).toEqual(NOTHING_WRONG);
    }, 60_000);

    it('refuses to go on when positions could be given twice', async () => {
      await publishLostTail();
      await appendMany(30);
      const relay = startRelay();
      await until(() => relay.current.state === 'refused');
      expect(relay.current.reason).toMatch(/ends with event lost at position \d+, which this log does not hold/);
      expect(relay.current.reason).toContain('KAFKA_TOPIC_PREFIX');
    }, 60_000);
  });

  it('survives its broker: what was appended meanwhile follows, in order, once', async () => {
    await appendMany(100);
    const relay = startRelay();
    await published();
    const [node] = brokers.nodes;
    await node?.kill9();
    await appendMany(500);
    await until(() => relay.current.state === 'unreachable');
    await node?.restart();
    await published();
    expect(relay.current).toEqual({ state: 'publishing' });
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 90_000);

  it('is taken over by another instance, and never keeps the log from what it has to publish', async () => {
    await holdLog(postgres.pool, true);
    const first = startRelay();
    await until(() => first.current.state === 'publishing');
    const second = startRelay();
    await until(() => second.current.state === 'standby');
    await appendMany(50);
    await published();
    await first.stop();
    await appendMany(50);
    await published();
    expect(second.current).toEqual({ state: 'publishing' });
    const { rows } = await postgres.pool.query('SELECT name, position::int FROM cc.log_holds');
    expect(rows).toEqual([{ name: 'kafka', position: await log.head() }]);
    expect(judge(await readTopics(brokers.kafka, topics()), await due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('publishes chosen events to a topic of one’s own, and refuses those of the relay', async () => {
    await appendMany(60);
    const events = await log.read();
    await expect(TopicPublisher.open(settingsOf(), `${prefix}sites`)).rejects.toThrow(/is the service's own/);
    const publisher = await TopicPublisher.open(settingsOf(), `${prefix}again`);
    await publisher.publish(events.slice(0, 40));
    await publisher.publish(events.slice(40));
    await publisher.close();
    const records = await readTopics(brokers.kafka, [`${prefix}again`]);
    expect(judge(records, await due())).toEqual(NOTHING_WRONG);
    for (const { position, value, headers } of records) {
      const event = events.find((one) => one.position === position);
      expect([JSON.parse(value), headers['ce_id'], headers['ce_subject']]).toEqual([
        event?.data,
        event?.id,
        event?.stream,
      ]);
    }
  }, 60_000);
});
