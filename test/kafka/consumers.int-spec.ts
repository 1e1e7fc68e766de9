import { ConsumerSource, wholeUpTo } from '../../src/kafka/consumer-source.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { ProjectionRunner } from '../../src/log/projection-runner.js';
import { CountedConsumers } from '../support/counted-consumers.js';
import { startTestBrokers, type TestBrokers, until } from '../support/kafka.js';
import { loosely } from '../support/loose-event.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';
import { counted } from './counted.mjs';

/** Shorter than it takes for a member to be thought dead; the drill has longer ones. */
const FROZEN_MS = 1_000;

(missingForBroker() ? describe.skip : describe)('a projection that Kafka feeds', () => {
  let server: TestServer;
  let brokers: TestBrokers;
  let relayed: RelayedLog;
  let counts: CountedConsumers;

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startTestBrokers()]);
  }, 120_000);
  afterAll(async () => {
    await brokers?.remove();
    await server?.stop();
  }, 60_000);

  beforeEach(async () => {
    relayed = await RelayedLog.open(server, brokers);
    counts = await CountedConsumers.open(relayed);
  });
  afterEach(async () => {
    await counts.close();
    await relayed.close();
  }, 30_000);

  const startConsumer = () => {
    const { postgres } = relayed;
    const logger = new Logger('silent');
    return relayed.start(new ConsumerSource(postgres, relayed.settings(), counted, counts.runner, logger));
  };

  it('equals a fold of the log, whichever consumers were killed, joined and lost their partitions meanwhile', async () => {
    await counts.appendMany(100);
    relayed.startRelay();
    await Promise.all([counts.join(), counts.join()]);
    await counts.underLoad(async () => {
      for (const fault of Object.values(counts.faults(FROZEN_MS))) await fault();
    });
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.folded());
  }, 90_000);

  it('takes what is delivered again for what it is', async () => {
    relayed.startRelay();
    const consumer = startConsumer();
    await counts.appendMany(300);
    await counts.caughtUp();
    await consumer.stop();
    const admin = brokers.kafka.admin();
    await admin.connect();
    // Kafka has forgotten the group: everything is delivered from the beginning.
    await until(
      async () =>
        await admin.deleteGroups([`${relayed.prefix}projection.counted`]).then(
          () => true,
          () => false,
        ),
    );
    await admin.disconnect();
    startConsumer();
    await counts.appendMany(30);
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.folded());
  }, 60_000);

  it('can be rebuilt, caught up and fed by the log while Kafka feeds it, and counts nothing twice', async () => {
    relayed.startRelay();
    startConsumer();
    await counts.underLoad(async () => {
      // Of every partition of both topics: the last part of this test relies on each having its mark.
      await until(
        async () => (await relayed.postgres.pool.query('SELECT FROM cc.partition_checkpoints')).rowCount === 6,
      );
      for (let round = 0; round < 3; round += 1) {
        await counts.runner.catchUp('counted');
        await counts.runner.rebuild('counted');
      }
    });
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.folded());
    // Kafka is switched off: the log's tail takes over where the marks are.
    await relayed.stopAll();
    await relayed.postgres.pool.query('UPDATE cc.projections SET position = 0');
    await relayed.postgres.pool.query('UPDATE cc.partition_checkpoints SET position = $1', [await relayed.log.head()]);
    await counts.appendMany(60);
    const tail = new ProjectionRunner(relayed.postgres, [counted]);
    await tail.start();
    await tail.catchUp('counted');
    await tail.stop();
    expect(await counts.rows()).toEqual(await counts.folded());
  }, 60_000);

  it('is parked at the event it cannot fold, by name', async () => {
    relayed.startRelay();
    startConsumer();
    await counts.appendMany(30);
    await counts.caughtUp();
    await relayed.append('conversion', { data: { poison: true } });
    const poison = loosely(await relayed.log.read()).find(({ data }) => data['poison']);
    await until(async () => (await counts.runner.status())[0]?.state === 'parked');
    expect((await counts.runner.status())[0]?.reason).toContain(`event ${poison?.id} at position ${poison?.position}`);
  }, 60_000);
});

describe('wholeUpTo', () => {
  const marks = (of: Record<number, number>) => ({ of: ({ shard }: { shard: number }) => of[shard] ?? 0 });

  it('is the relay’s checkpoint where every shard has come as far as it was given', () => {
    expect(wholeUpTo(500, { conversion: [400, 0, 90] }, ['conversion'], 100, marks({ 0: 400 }))).toBe(500);
  });

  it('is where the last of them has come otherwise, and never before the projection’s own', () => {
    const published = { conversion: [400, 480, 90], site: [490] };
    expect(wholeUpTo(500, published, ['conversion'], 100, marks({ 0: 300, 1: 480 }))).toBe(300);
    expect(wholeUpTo(500, published, ['conversion'], 100, marks({ 1: 480 }))).toBe(100);
  });
});
