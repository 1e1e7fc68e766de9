import { ProjectionConsumer } from '../../src/kafka/projection-consumer.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { ProjectionRunner } from '../../src/log/projection-runner.js';
import { CountedConsumers } from '../support/counted-consumers.js';
import { startTestBrokers, type TestBrokers, waitUntil } from '../support/kafka.js';
import { loosely } from '../support/loose-event.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';
import { counted } from './counted.projection.mjs';

/** Shorter than the session timeout; the drill has longer freezes. */
const FROZEN_MS = 1_000;

(missingForBroker() ? describe.skip : describe)('a projection fed by Kafka', () => {
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
    return relayed.start(new ProjectionConsumer(postgres, relayed.settings(), counted, counts.runner, logger));
  };

  it('equals a fold of the log after consumers were killed, joined and lost partitions', async () => {
    await counts.appendMany(100);
    relayed.startRelay();
    await Promise.all([counts.join(), counts.join()]);
    await counts.underLoad(async () => {
      for (const fault of Object.values(counts.faults(FROZEN_MS))) await fault();
    });
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.expectedRows());
  }, 90_000);

  it('ignores redelivered events', async () => {
    relayed.startRelay();
    const consumer = startConsumer();
    await counts.appendMany(300);
    await counts.caughtUp();
    await consumer.stop();
    const admin = brokers.kafka.admin();
    await admin.connect();
    // Without the group's offsets, Kafka redelivers everything from the beginning.
    await waitUntil(
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
    expect(await counts.rows()).toEqual(await counts.expectedRows());
  }, 60_000);

  it('counts every event once when it is rebuilt, caught up and fed from the log while Kafka feeds it', async () => {
    relayed.startRelay();
    startConsumer();
    await counts.underLoad(async () => {
      // The last part of this test requires a partition checkpoint for every partition of both topics.
      await waitUntil(
        async () => (await relayed.postgres.pool.query('SELECT FROM cc.partition_checkpoints')).rowCount === 6,
      );
      for (let round = 0; round < 3; round += 1) {
        await counts.runner.catchUp('counted');
        await counts.runner.rebuild('counted');
      }
    });
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.expectedRows());
    // Without Kafka, the log's tail continues from the partition checkpoints.
    await relayed.stopAll();
    await relayed.postgres.pool.query('UPDATE cc.projections SET position = 0');
    await relayed.postgres.pool.query('UPDATE cc.partition_checkpoints SET position = $1', [await relayed.log.head()]);
    await counts.appendMany(60);
    const tail = new ProjectionRunner(relayed.postgres, [counted]);
    await tail.start();
    await tail.catchUp('counted');
    await tail.stop();
    expect(await counts.rows()).toEqual(await counts.expectedRows());
  }, 60_000);

  it('is parked with the id of the event that it cannot fold', async () => {
    relayed.startRelay();
    startConsumer();
    await counts.appendMany(30);
    await counts.caughtUp();
    await relayed.append('conversion', { data: { poison: true } });
    const poison = loosely(await relayed.log.read()).find(({ data }) => data['poison']);
    await waitUntil(async () => (await counts.runner.status())[0]?.state === 'parked');
    expect((await counts.runner.status())[0]?.reason).toContain(`event ${poison?.id} at position ${poison?.position}`);
  }, 60_000);
});
