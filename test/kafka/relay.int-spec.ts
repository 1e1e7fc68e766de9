import { holdLog } from '../../src/kafka/checkpoint.js';
import { openRelaySession } from '../../src/kafka/open-session.js';
import { TopicPublisher } from '../../src/kafka/topic-publisher.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { shardOf } from '../../src/log/shard.js';
import { judge, NOTHING_WRONG, readTopics, startTestBrokers, type TestBrokers, until } from '../support/kafka.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';

const missing = missingForBroker();
if (missing) console.warn(`LEFT OUT: everything about Kafka. ${missing}.`);

(missing ? describe.skip : describe)('the relay', () => {
  let server: TestServer;
  let brokers: TestBrokers;
  let relayed: RelayedLog;

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startTestBrokers()]);
  }, 120_000);
  afterAll(async () => {
    await brokers?.remove();
    await server?.stop();
  }, 60_000);

  beforeEach(async () => {
    relayed = await RelayedLog.open(server, brokers);
  });
  afterEach(() => relayed.close(), 30_000);

  it('publishes what is in the log by the contract: topic, key, value, headers, order, and nothing personal', async () => {
    const stream = uuidv7();
    for (let turn = 0; turn < 5; turn += 1)
      await relayed.append('conversion', { data: { turn, text: 'ä "quoted" \u2028' }, stream, expected: 'any' });
    await relayed.appendMany(200);
    relayed.startRelay({ CELL: 'eu-1' });
    await relayed.published();
    const records = await readTopics(brokers.kafka, relayed.topics);
    expect(judge(records, await relayed.due())).toEqual(NOTHING_WRONG);

    const events = new Map((await relayed.log.read()).map((event) => [event.position, event]));
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
        `${relayed.prefix}${{ auth: 'auth', outbound: 'outbound' }[key.split('-')[0] as string] ?? `${key.split('-')[0]}s`}`,
      );
      expect(partition).toBe(shardOf(key, 3));
    }
    expect(records.map(({ value, headers }) => value + JSON.stringify(headers)).join()).not.toContain('ab'.repeat(32));
    expect(
      records.filter(({ key }) => key === `conversion-${stream}`).map(({ value }) => JSON.parse(value).turn),
    ).toEqual([0, 1, 2, 3, 4]);
  }, 60_000);

  it('publishes a backlog of many pages, some of them too large for one batch', async () => {
    const large = { text: 'x'.repeat(3_000) };
    await relayed.appendMany(2_500);
    await Promise.all(Array.from({ length: 2_000 }, () => relayed.append('conversion', { data: large })));
    await relayed.appendMany(1_000);
    relayed.startRelay();
    await relayed.published();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('publishes nothing twice when it did not get to writing down how far it had come', async () => {
    await relayed.appendMany(300);
    const relay = relayed.startRelay();
    await relayed.published();
    await relay.stop();
    await relayed.postgres.pool.query(`UPDATE cc.kafka_relay SET position = 0, published = '{}'`);
    await relayed.appendMany(300);
    relayed.startRelay();
    await relayed.published();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('gives a topic again what it has lost, and the others nothing', async () => {
    await relayed.appendMany(200);
    const relay = relayed.startRelay();
    await relayed.published();
    await relay.stop();
    const admin = brokers.kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${relayed.prefix}visitors`] });
    await until(async () => !(await admin.listTopics()).includes(`${relayed.prefix}visitors`));
    await admin.disconnect();
    await relayed.append('visitor');
    relayed.startRelay();
    await relayed.published();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('lets only the newest session publish: an older one that wakes up is refused, and leaves nothing behind', async () => {
    const settings = relayed.settings();
    const older = await openRelaySession(relayed.postgres, settings, new Logger('silent'));
    await relayed.appendMany(100);
    expect(await older.publishPage(50)).toBe(50);
    const newer = await openRelaySession(relayed.postgres, settings, new Logger('silent'));
    await expect(older.publishPage(50)).rejects.toThrow();
    expect(await newer.publishPage(1_000)).toBe(50);
    older.drop();
    newer.drop();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('looks past what was taken back and what was never ended, however much it is', async () => {
    await relayed.appendMany(100);
    const relay = relayed.startRelay();
    await relayed.published();
    await relay.stop();
    const leftOpen = async () => {
      const producer = brokers.kafka.producer({ transactionalId: `${relayed.prefix}relay`, idempotent: true });
      await producer.connect();
      const transaction = await producer.transaction();
      const messages = Array.from({ length: 700 }, (_, at) => ({
        value: '{}',
        partition: at % 3,
        headers: { cc_position: String(1_000_000 + at), ce_id: 'never' },
      }));
      for (const topic of relayed.topics) await transaction.send({ topic, messages });
      return { producer, transaction };
    };
    // One that took back what it had sent, and one that died in the middle.
    const { producer, transaction } = await leftOpen();
    await transaction.abort();
    const dead = await leftOpen();
    await Promise.all([producer.disconnect(), dead.producer.disconnect()]);
    await relayed.appendMany(100);
    await relayed.postgres.pool.query(`UPDATE cc.kafka_relay SET position = 0, published = '{}'`);
    relayed.startRelay();
    await relayed.published();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('gives the whole history to a new prefix', async () => {
    await relayed.appendMany(100);
    const relay = relayed.startRelay();
    await relayed.published();
    await relay.stop();
    relayed.prefix = `${relayed.prefix}again.`;
    relayed.startRelay();
    await relayed.published();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('refuses, by name, a topic whose partition count was changed', async () => {
    await relayed.append('conversion');
    const relay = relayed.startRelay();
    await relayed.published();
    await relay.stop();
    const admin = brokers.kafka.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: `${relayed.prefix}sites`, count: 4 }] });
    await admin.disconnect();
    const again = relayed.startRelay();
    await until(() => again.current.state === 'refused');
    expect(again.current.reason).toMatch(
      new RegExp(`^Topic ${relayed.prefix}sites has 4 partitions and was made with 3`),
    );
  }, 60_000);

  describe('on a database that came back from the past', () => {
    /** Events that Kafka has and the log has not: they were in the tail that was lost. */
    const publishLostTail = async () => {
      await relayed.appendMany(100);
      const relay = relayed.startRelay();
      await relayed.published();
      await relay.stop();
      const producer = brokers.kafka.producer({ transactionalId: `${relayed.prefix}relay`, idempotent: true });
      await producer.connect();
      const transaction = await producer.transaction();
      const beyond = (await relayed.log.head()) + 500;
      const messages = [0, 1, 2].map((partition) => ({
        value: '{}',
        partition,
        headers: { cc_position: String(beyond + partition), ce_id: 'lost' },
      }));
      for (const topic of relayed.topics) await transaction.send({ topic, messages });
      await transaction.commit();
      await producer.disconnect();
      return beyond;
    };

    it('skips nothing new after a fail-over that was noticed, also when it starts again later', async () => {
      const lost = await publishLostTail();
      const before = await relayed.due();
      await relayed.postgres.pool.query(`UPDATE cc.lineage SET timeline = '000000ff'`);
      await relayed.postgres.pool.query(`UPDATE cc.kafka_relay SET timeline = '000000ff'`);
      await relayed.log.close();
      relayed.log = new PostgresEventLog(relayed.postgres);
      await relayed.appendMany(30);
      const relay = relayed.startRelay();
      await relayed.published();
      await relay.stop();
      await relayed.appendMany(30);
      relayed.startRelay();
      await relayed.published();
      const news = (await relayed.due()).filter((position) => !before.includes(position));
      expect(news).toHaveLength(60);
      expect(Math.min(...news)).toBeGreaterThan(lost);
      const records = (await readTopics(brokers.kafka, relayed.topics)).filter(
        ({ headers }) => headers['ce_id'] !== 'lost',
      );
      expect(judge(records, await relayed.due())).toEqual(NOTHING_WRONG);
    }, 60_000);

    it('refuses to go on when positions could be given twice', async () => {
      await publishLostTail();
      await relayed.appendMany(30);
      const relay = relayed.startRelay();
      await until(() => relay.current.state === 'refused');
      expect(relay.current.reason).toMatch(/ends with event lost at position \d+, which this log does not hold/);
      expect(relay.current.reason).toContain('KAFKA_TOPIC_PREFIX');
    }, 60_000);
  });

  it('survives its broker: what was appended meanwhile follows, in order, once', async () => {
    await relayed.appendMany(100);
    const relay = relayed.startRelay();
    await relayed.published();
    const [node] = brokers.nodes;
    await node?.kill9();
    await relayed.appendMany(500);
    await until(() => relay.current.state === 'unreachable');
    await node?.restart();
    await relayed.published();
    expect(relay.current).toEqual({ state: 'publishing' });
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 90_000);

  it('is taken over by another instance, and never keeps the log from what it has to publish', async () => {
    await holdLog(relayed.postgres.pool, true);
    const first = relayed.startRelay();
    await until(() => first.current.state === 'publishing');
    const second = relayed.startRelay();
    await until(() => second.current.state === 'standby');
    await relayed.appendMany(50);
    await relayed.published();
    await first.stop();
    await relayed.appendMany(50);
    await relayed.published();
    expect(second.current).toEqual({ state: 'publishing' });
    const { rows } = await relayed.postgres.pool.query('SELECT name, position::int FROM cc.log_holds');
    expect(rows).toEqual([{ name: 'kafka', position: await relayed.log.head() }]);
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
  }, 60_000);

  it('publishes chosen events to a topic of one’s own, and refuses those of the relay', async () => {
    await relayed.appendMany(60);
    const events = await relayed.log.read();
    await expect(TopicPublisher.open(relayed.settings(), `${relayed.prefix}sites`)).rejects.toThrow(
      /is the service's own/,
    );
    const publisher = await TopicPublisher.open(relayed.settings(), `${relayed.prefix}again`);
    await publisher.publish(events.slice(0, 40));
    await publisher.publish(events.slice(40));
    await publisher.close();
    const records = await readTopics(brokers.kafka, [`${relayed.prefix}again`]);
    expect(judge(records, await relayed.due())).toEqual(NOTHING_WRONG);
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
