import { ProjectionConsumer } from '../../src/kafka/projection-consumer.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { ProjectionRunner } from '../../src/log/projections/projection-runner.js';
import { CountedConsumers } from '../support/counted-consumers.js';
import { type SharedBroker, sharedBroker, waitUntil, withAdmin } from '../support/kafka.js';
import { loosely } from '../support/loose-event.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';
import { counted } from './counted.projection.mjs';

/** Shorter than the session timeout; the drill has longer freezes. */
const FROZEN_MS = 1_000;

(missingForBroker() ? describe.skip : describe)('a projection fed by Kafka', () => {
  let brokers: SharedBroker;
  let relayed: RelayedLog;
  let counts: CountedConsumers;

  beforeAll(async () => {
    brokers = await sharedBroker();
  });

  beforeEach(async () => {
    relayed = await RelayedLog.open(brokers);
    counts = await CountedConsumers.open(relayed);
  });
  afterEach(async () => {
    await counts.close();
    await relayed.close();
  });

  const startConsumer = (of = relayed, { runner } = counts) =>
    of.start(new ProjectionConsumer(of.postgres, of.settings(), counted, runner, new Logger('silent')));

  it('equals a fold of the log after consumers were killed, joined and lost partitions', async () => {
    await counts.appendMany(100);
    relayed.startRelay();
    await Promise.all([counts.join(), counts.join()]);
    await counts.underLoad(async () => {
      for (const fault of Object.values(counts.faults(FROZEN_MS))) await fault();
    });
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.expectedRows());
  });

  it('ignores redelivered events', async () => {
    relayed.startRelay();
    const consumer = startConsumer();
    await counts.appendMany(300);
    await counts.caughtUp();
    await consumer.stop();
    // Without the group's offsets, Kafka redelivers everything from the beginning.
    await withAdmin(brokers.kafka, (admin) => {
      const remove = () => admin.deleteGroups([`${relayed.prefix}projection.counted`]);
      return waitUntil(() => remove().then(Boolean, () => false));
    });
    startConsumer();
    await counts.appendMany(30);
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.expectedRows());
  });

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
  });

  it('equals a fold of the log also where consumers are ahead of its checkpoint', async () => {
    relayed.startRelay();
    startConsumer();
    const { pool } = relayed.postgres;
    await counts.underLoad(() =>
      waitUntil(
        async () => (await pool.query('SELECT FROM cc.partition_checkpoints WHERE position > 0')).rowCount === 6,
      ),
    );
    await counts.caughtUp();
    await relayed.stopAll();
    // As while events arrive: the checkpoint moves a little after the partitions.
    const { rows } = await pool.query(
      `UPDATE cc.projections SET position = (SELECT min(position) FROM cc.partition_checkpoints)
        WHERE name = 'counted' RETURNING position::float8`,
    );
    const compared = await counts.runner.compare('counted', new Date(0));
    expect(compared).toMatchObject({ position: rows[0].position, missing: 0, surplus: 0 });
    expect(compared.rows).toBeGreaterThan(0);
  });

  it('is parked with the id of the event that it cannot fold', async () => {
    relayed.startRelay();
    startConsumer();
    await counts.appendMany(30);
    await counts.caughtUp();
    await relayed.append('conversion', { data: { poison: true } });
    const poison = loosely(await relayed.log.read()).find(({ data }) => data['poison']);
    await waitUntil(async () => (await counts.runner.status())[0]?.state === 'parked');
    expect((await counts.runner.status())[0]?.reason).toContain(`event ${poison?.id} at position ${poison?.position}`);
  });

  describe('on a database that fails over', () => {
    let failing: TestServer;
    let lossy: RelayedLog;
    let lossyCounts: CountedConsumers;

    // A server of its own with one small database, because its data is copied.
    beforeEach(async () => {
      failing = await startTestServer();
      lossy = await RelayedLog.open(brokers, failing);
      lossyCounts = await CountedConsumers.open(lossy);
      await lossyCounts.appendMany(60);
    });
    afterEach(async () => {
      await lossy?.close();
      await failing?.stop();
    });

    /** The first queries after a restart find that their connections are gone. */
    const answers = () => waitUntil(() => lossy.log.head().then(Number.isFinite, () => false));
    /** Waits until the group has read the topics to their ends, where the last record is a marker of a transaction. */
    const consumed = () =>
      withAdmin(brokers.kafka, async (admin) => {
        const topics = [`${lossy.prefix}conversions`, `${lossy.prefix}visitors`];
        const ends = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)));
        await waitUntil(async () => {
          const read = await admin.fetchOffsets({ groupId: `${lossy.prefix}projection.counted`, topics });
          return topics.every((topic, at) =>
            ends[at]?.every(({ partition, high }) => {
              const found = read
                .find((one) => one.topic === topic)
                ?.partitions.find((one) => one.partition === partition);
              return Number(found?.offset) >= Number(high) - 1;
            }),
          );
        });
      });
    const appendAndCompare = async () => {
      await lossyCounts.appendMany(60);
      await lossyCounts.caughtUp();
      expect(await lossyCounts.rows()).toEqual(await lossyCounts.expectedRows());
    };

    it('equals a fold of the log, which has events of which the database lost what was folded', async () => {
      const relay = lossy.startRelay();
      startConsumer(lossy, lossyCounts);
      await lossyCounts.caughtUp();
      await relay.stop();
      await lossyCounts.appendMany(60);
      const restore = await failing.backUp();
      await answers();
      lossy.startRelay();
      await lossyCounts.caughtUp();
      await restore();
      await answers();
      await appendAndCompare();
    });

    it('does not count events that the log has lost and the topics have', async () => {
      const relay = lossy.startRelay();
      await lossy.published();
      const restore = await failing.backUp();
      await answers();
      await lossyCounts.appendMany(60);
      await lossy.published();
      await relay.stop();
      await restore();
      await answers();
      // Before anything is appended again.
      startConsumer(lossy, lossyCounts);
      await consumed();
      lossy.startRelay();
      await appendAndCompare();
    });
  });
});
