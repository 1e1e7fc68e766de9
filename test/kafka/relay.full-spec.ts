import { compareRecords } from '../../src/kafka/compare-records.js';
import { compareTopics } from '../../src/kafka/compare-topics.js';
import { openRelaySession } from '../../src/kafka/open-session.js';
import { holdLog } from '../../src/kafka/relay-progress.js';
import { TopicPublisher } from '../../src/kafka/topic-publisher.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { shardOf } from '../../src/log/projections/shard.js';
import { RecentEvents, RecentRow } from '../../src/log/recent-events.js';
import {
  countViolations,
  deleteRecords,
  NO_VIOLATIONS,
  readTopics,
  startTestBrokers,
  type TestBrokers,
  waitUntil,
  withAdmin,
} from '../support/kafka.js';
import { RelayedLog } from '../support/relayed-log.js';

const missing = missingForBroker();
if (missing) console.warn(`SKIPPED: all Kafka tests. ${missing}.`);

(missing ? describe.skip : describe)('the relay', () => {
  let brokers: TestBrokers;
  let relayed: RelayedLog;

  beforeAll(async () => {
    brokers = await startTestBrokers();
  });
  afterAll(async () => {
    await brokers?.remove();
  });

  beforeEach(async () => {
    relayed = await RelayedLog.open(brokers);
  });
  afterEach(() => relayed.close());

  const violations = async () =>
    countViolations(await readTopics(brokers.kafka, relayed.topics), await relayed.expectedPositions());

  it('publishes the log with the documented topic, key, value, headers and order, and without personal data', async () => {
    const stream = uuidv7();
    for (let turn = 0; turn < 5; turn += 1)
      await relayed.append('conversion', { data: { turn, text: 'ä "quoted" \u2028' }, stream, expected: 'any' });
    await relayed.appendMany(200);
    relayed.startRelay({ CELL: 'eu-1' });
    await relayed.published();
    const records = await readTopics(brokers.kafka, relayed.topics);
    expect(countViolations(records, await relayed.expectedPositions())).toEqual(NO_VIOLATIONS);

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
        ce_dataschema: `urn:clean-conversions:event:${event?.type}`,
        ce_sequence: String(position),
        ce_site: 'shop.example',
        ce_version: String(event?.version),
        ce_actor: event?.actor,
        cc_position: String(position),
        cc_site: 'shop.example',
        cc_version: String(event?.version),
      });
      expect(topic).toBe(
        `${relayed.prefix}${{ auth: 'auth', inbound: 'inbound', outbound: 'outbound', log: 'log' }[key.split('-')[0] as string] ?? `${key.split('-')[0]}s`}`,
      );
      expect(partition).toBe(shardOf(key, 3));
    }
    expect(records.map(({ value, headers }) => value + JSON.stringify(headers)).join()).not.toContain('ab'.repeat(32));
    expect(
      records.filter(({ key }) => key === `conversion-${stream}`).map(({ value }) => JSON.parse(value).turn),
    ).toEqual([0, 1, 2, 3, 4]);
  });

  it('publishes a backlog of many pages, including pages too large for one batch', async () => {
    const large = { text: 'x'.repeat(3_000) };
    await relayed.appendMany(2_500);
    await Promise.all(Array.from({ length: 2_000 }, () => relayed.append('conversion', { data: large })));
    await relayed.appendMany(1_000);
    relayed.startRelay();
    await relayed.published();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('publishes nothing twice after a crash before the checkpoint was saved', async () => {
    await relayed.publishMany(300);
    await relayed.postgres.pool.query(`UPDATE cc.kafka_relay SET position = 0, published = '{}'`);
    await relayed.appendMany(300);
    relayed.startRelay();
    await relayed.published();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('republishes the events that a topic has lost, and no others', async () => {
    await relayed.publishMany(200);
    const topic = `${relayed.prefix}visitors`;
    await withAdmin(brokers.kafka, async (admin) => {
      await admin.deleteTopics({ topics: [topic] });
      await waitUntil(async () => !(await admin.listTopics()).includes(topic));
    });
    await relayed.append('visitor');
    await holdLog(relayed.postgres.pool, true);
    const session = await openRelaySession(relayed.postgres, relayed.settings(), new Logger('silent'));
    session.close();
    // Log retention waits for what is published again.
    const { rows } = await relayed.postgres.pool.query(
      `SELECT position::integer FROM cc.log_holds WHERE name = 'kafka'`,
    );
    expect(rows).toEqual([{ position: 0 }]);
    relayed.startRelay();
    await relayed.published();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('is audited for records that are there twice', async () => {
    await relayed.publishMany(100);
    const compare = async () => {
      const found: string[] = [];
      await compareRecords(
        relayed.settings(),
        relayed.postgres,
        (violation) => found.push(violation),
        () => {},
      );
      return found;
    };
    expect(await compare()).toEqual([]);
    const [repeated] = await readTopics(brokers.kafka, [`${relayed.prefix}visitors`]);
    const { topic, partition, key, value, headers } = repeated as NonNullable<typeof repeated>;
    const producer = brokers.kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages: [{ partition, key, value, headers }] });
    await producer.disconnect();
    expect(await compare()).toEqual([
      expect.stringMatching(
        `position ${headers['cc_position']} is on ${topic} partition ${partition} offset \\d+ again`,
      ),
    ]);
  });

  it('continues behind records that another program wrote to its topics', async () => {
    await relayed.publishMany(100);
    const producer = brokers.kafka.producer();
    await producer.connect();
    for (const topic of relayed.topics)
      await producer.send({ topic, messages: [0, 1, 2].map((partition) => ({ partition, value: 'other' })) });
    await producer.disconnect();
    await relayed.appendMany(100);
    relayed.startRelay();
    await relayed.published();
    const records = (await readTopics(brokers.kafka, relayed.topics)).filter(({ value }) => value !== 'other');
    expect(countViolations(records, await relayed.expectedPositions())).toEqual(NO_VIOLATIONS);
  });

  it('does not publish from memory what a failover may have lost', async () => {
    await relayed.appendMany(30);
    const head = await relayed.log.head();
    const recent = new RecentEvents();
    const request = { category: 'visitor', stream: uuidv7(), site: 'shop.example', actor: 'system' } as const;
    const event = { type: 'visitor.happened.v1', data: {} };
    const lost = new RecentRow(head + 1, Date.now(), new Date().toISOString(), 1, request, event, uuidv7());
    recent.add(head, [lost], 1);
    const session = await openRelaySession(relayed.postgres, relayed.settings(), new Logger('silent'), recent);
    expect(await session.publishPage(1_000)).toBe(30);
    expect(await session.publishPage(1_000)).toBe(0);
    session.close();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('has published what Kafka has deleted since, also if nothing is left of a partition', async () => {
    await relayed.appendMany(200);
    relayed.startRelay();
    await relayed.published();
    await deleteRecords(brokers.kafka, `${relayed.prefix}visitors`);
    expect(await compareTopics(relayed.settings(), relayed.postgres)).toMatchObject({ violations: [] });
  });

  it('lets only the newest session publish and rejects an older one without a trace', async () => {
    const settings = relayed.settings();
    const older = await openRelaySession(relayed.postgres, settings, new Logger('silent'));
    await relayed.appendMany(100);
    expect(await older.publishPage(50)).toBe(50);
    const newer = await openRelaySession(relayed.postgres, settings, new Logger('silent'));
    await expect(older.publishPage(50)).rejects.toThrow();
    expect(await newer.publishPage(1_000)).toBe(50);
    older.close();
    newer.close();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('ignores any number of messages of aborted and hanging transactions', async () => {
    await relayed.publishMany(100);
    const openTransaction = async () => {
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
    // One transaction is aborted, the other is left open as by a crash.
    const { producer, transaction } = await openTransaction();
    await transaction.abort();
    const crashed = await openTransaction();
    await Promise.all([producer.disconnect(), crashed.producer.disconnect()]);
    await relayed.appendMany(100);
    await relayed.postgres.pool.query(`UPDATE cc.kafka_relay SET position = 0, published = '{}'`);
    relayed.startRelay();
    await relayed.published();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('publishes the whole history under a new prefix', async () => {
    await relayed.publishMany(100);
    relayed.prefix = `${relayed.prefix}again.`;
    relayed.startRelay();
    await relayed.published();
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('refuses to publish to a topic whose partition count was changed, and names it', async () => {
    await relayed.append('conversion');
    const relay = relayed.startRelay();
    await relayed.published();
    await relay.stop();
    const topicPartitions = [{ topic: `${relayed.prefix}sites`, count: 4 }];
    await withAdmin(brokers.kafka, (admin) => admin.createPartitions({ topicPartitions }));
    const again = relayed.startRelay();
    await waitUntil(() => again.current.state === 'refused');
    expect(again.current.reason).toMatch(
      new RegExp(`^Topic ${relayed.prefix}sites has 4 partitions but was created with 3`),
    );
  });

  describe('on a database restored to an earlier state', () => {
    /** Publishes events that are not in the log, as if the log had lost its tail. */
    const publishLostTail = async () => {
      await relayed.publishMany(100);
      const producer = brokers.kafka.producer({ transactionalId: `${relayed.prefix}relay`, idempotent: true });
      await producer.connect();
      const transaction = await producer.transaction();
      const lostPosition = (await relayed.log.head()) + 500;
      const messages = [0, 1, 2].map((partition) => ({
        value: '{}',
        partition,
        headers: { cc_position: String(lostPosition + partition), ce_id: 'lost' },
      }));
      for (const topic of relayed.topics) await transaction.send({ topic, messages });
      await transaction.commit();
      await producer.disconnect();
      return lostPosition;
    };

    it('publishes all new events after a detected failover, also after a restart', async () => {
      const lostPosition = await publishLostTail();
      const before = await relayed.expectedPositions();
      const owner = await relayed.postgres.connectAsOwner('test');
      await owner.query(`UPDATE cc.lineage SET timeline = '000000ff'`);
      await owner.end();
      await relayed.log.close();
      relayed.log = new PostgresEventLog(relayed.postgres);
      await relayed.publishMany(30);
      // Most partitions have got a later event since, and some end with a lost one.
      expect(await compareTopics(relayed.settings(), relayed.postgres)).toMatchObject({ violations: [] });
      await relayed.appendMany(30);
      relayed.startRelay();
      await relayed.published();
      const newPositions = (await relayed.expectedPositions()).filter((position) => !before.includes(position));
      expect(newPositions).toHaveLength(60);
      expect(Math.min(...newPositions)).toBeGreaterThan(lostPosition);
      const records = (await readTopics(brokers.kafka, relayed.topics)).filter(
        ({ headers }) => headers['ce_id'] !== 'lost',
      );
      expect(countViolations(records, await relayed.expectedPositions())).toEqual(NO_VIOLATIONS);
    });

    it('refuses to publish when positions could have been reused', async () => {
      await publishLostTail();
      await relayed.appendMany(30);
      const relay = relayed.startRelay();
      await waitUntil(() => relay.current.state === 'refused');
      expect(relay.current.reason).toMatch(/ends with event lost at position \d+, which is not in this log/);
      expect(relay.current.reason).toContain('KAFKA_TOPIC_PREFIX');
    });
  });

  it('publishes events appended during a broker outage, once and in order', async () => {
    await relayed.appendMany(100);
    const relay = relayed.startRelay();
    await relayed.published();
    const [node] = brokers.nodes;
    await node?.kill9();
    await relayed.appendMany(500);
    await waitUntil(() => relay.current.state === 'unreachable');
    await node?.restart();
    await relayed.published();
    expect(relay.current).toEqual({ state: 'publishing' });
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('is taken over by another instance and advances the log hold', async () => {
    await holdLog(relayed.postgres.pool, true);
    const first = relayed.startRelay();
    await waitUntil(() => first.current.state === 'publishing');
    const second = relayed.startRelay();
    await waitUntil(() => second.current.state === 'standby');
    await relayed.appendMany(50);
    await relayed.published();
    await first.stop();
    await relayed.appendMany(50);
    await relayed.published();
    expect(second.current).toEqual({ state: 'publishing' });
    const { rows } = await relayed.postgres.pool.query('SELECT name, position::int FROM cc.log_holds');
    expect(rows).toEqual([{ name: 'kafka', position: await relayed.log.head() }]);
    expect(await violations()).toEqual(NO_VIOLATIONS);
  });

  it('publishes selected events to a custom topic and rejects the relay’s topics', async () => {
    await relayed.appendMany(60);
    const events = await relayed.log.read();
    await expect(TopicPublisher.open(relayed.settings(), `${relayed.prefix}sites`)).rejects.toThrow(
      /belongs to the service/,
    );
    const publisher = await TopicPublisher.open(relayed.settings(), `${relayed.prefix}again`);
    await publisher.publish(events.slice(0, 40));
    await publisher.publish(events.slice(40));
    await publisher.close();
    const records = await readTopics(brokers.kafka, [`${relayed.prefix}again`]);
    expect(countViolations(records, await relayed.expectedPositions())).toEqual(NO_VIOLATIONS);
    for (const { position, value, headers } of records) {
      const event = events.find((one) => one.position === position);
      expect([JSON.parse(value), headers['ce_id'], headers['ce_subject']]).toEqual([
        event?.data,
        event?.id,
        event?.stream,
      ]);
    }
  });
});
