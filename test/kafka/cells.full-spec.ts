import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { kafka as checkKafka } from '../../src/app/doctor/delivery-checks.js';
import { openRelaySession } from '../../src/kafka/open-session.js';
import { ProjectionConsumer } from '../../src/kafka/projection-consumer.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { CountedConsumers } from '../support/counted-consumers.js';
import {
  countViolations,
  deleteRecords,
  NO_VIOLATIONS,
  readTopics,
  type SharedBroker,
  sharedBroker,
  waitUntil,
  withAdmin,
} from '../support/kafka.js';
import { RelayedLog } from '../support/relayed-log.js';
import { counted } from './counted.projection.mjs';

const READER = fileURLToPath(new URL('../../docs/read-topics.mjs', import.meta.url));

interface ReadEvent {
  readonly id: string;
  readonly prefix: string;
  readonly stream: string;
  readonly version: number;
}

const logger = new Logger('silent');

(missingForBroker() ? describe.skip : describe)('two cells on one Kafka cluster', () => {
  let brokers: SharedBroker;
  let north: RelayedLog;
  let south: RelayedLog;

  beforeAll(async () => {
    brokers = await sharedBroker();
  });

  beforeEach(async () => {
    [north, south] = await Promise.all([RelayedLog.open(brokers), RelayedLog.open(brokers)]);
  });
  afterEach(async () => {
    await south.close();
    await north.close();
  });

  const violations = async (cell: RelayedLog) =>
    countViolations(await readTopics(brokers.kafka, cell.topics), await cell.expectedPositions());
  const doctor = (cell: RelayedLog) => checkKafka({ postgres: cell.postgres, settings: cell.settings() } as never);
  const consume = (cell: RelayedLog, { runner }: CountedConsumers) =>
    cell.start(new ProjectionConsumer(cell.postgres, cell.settings(), counted, runner, logger));
  const members = async () => {
    const { groups } = await withAdmin(brokers.kafka, (admin) =>
      admin.describeGroups([`${north.prefix}projection.counted`]),
    );
    return groups[0]?.members.length;
  };

  describe('with prefixes of their own', () => {
    /** What docs/read-topics.mjs prints, as soon as it is enough. */
    const read = async (until: (events: readonly ReadEvent[]) => boolean, whileReading = async () => {}) => {
      const reader = spawn(process.execPath, [READER, brokers.brokers, north.prefix, south.prefix]);
      const closed = once(reader, 'close');
      let [output, errors] = ['', ''];
      reader.stdout.on('data', (chunk) => {
        output += chunk;
      });
      reader.stderr.on('data', (chunk) => {
        errors += chunk;
      });
      const events = () =>
        output
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as ReadEvent);
      try {
        await waitUntil(() => events().length > 0);
        await whileReading();
        await waitUntil(
          () => until(events()),
          () => `${events().length} events read. ${errors}`,
        );
      } finally {
        reader.kill('SIGTERM');
        await closed;
      }
      expect(errors).toBe('');
      return events();
    };
    /** As the move of a site does: with id, version and time. */
    const copy = async (from: RelayedLog, to: RelayedLog, stream: string) => {
      const owner = await to.postgres.connectAsOwner('test');
      await owner.query('SET session_replication_role = replica');
      for (const { id, version, type, site, time } of await from.log.readStream('conversion', stream))
        await owner.query(
          `INSERT INTO cc.events (position, id, category, stream, version, type, site, time, actor, data)
           VALUES (nextval('cc.event_position'), $1, 'conversion', $2, $3, $4, $5, $6, 'system', '{}')`,
          [id, stream, version, type, site, time],
        );
      await owner.end();
    };
    /** Everything that is in the log now counts as published. */
    const skipToHead = async (cell: RelayedLog) => {
      const { clusterId } = await withAdmin(brokers.kafka, (admin) => admin.describeCluster());
      await cell.postgres.pool.query(
        `INSERT INTO cc.kafka_relay (cluster, prefix, position) VALUES ($1, $2, (SELECT max(position) FROM cc.events))
         ON CONFLICT (cluster, prefix) DO UPDATE SET position = excluded.position`,
        [clusterId, cell.prefix],
      );
    };
    const append = (cell: RelayedLog, stream: string) => cell.append('conversion', { stream, expected: 'any' });
    const versionsOf = (events: readonly ReadEvent[], stream: string) =>
      events.filter((each) => each.stream === `conversion-${stream}`).map(({ version }) => version);

    it('are read as one: each event once by id, a stream that moved in order, also if its beginning is published last', async () => {
      const moved = uuidv7();
      await north.publishMany(60);
      await append(north, moved);
      await append(north, moved);
      await copy(north, south, moved);
      await skipToHead(south);
      await append(south, moved);
      await south.appendMany(60);
      const relay = south.startRelay();
      await south.published();
      await relay.stop();
      // There is nothing of the beginning yet.
      await append(south, moved);
      const events = await read(
        (each) => versionsOf(each, moved).length === 4 && each.length === 124,
        async () => {
          south.startRelay();
          await south.published();
          north.startRelay();
          await north.published();
        },
      );
      expect(versionsOf(events, moved)).toEqual([1, 2, 3, 4]);
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      const ids = [...(await north.log.read()), ...(await south.log.read())].map(({ id }) => id);
      expect(events.map(({ id }) => id).sort()).toEqual([...new Set(ids)].sort());
      expect(new Set(events.map(({ prefix }) => prefix))).toEqual(new Set([north.prefix, south.prefix]));
    });

    it('are read without what Kafka has deleted', async () => {
      const moved = uuidv7();
      await append(north, moved);
      await append(north, moved);
      north.startRelay();
      await north.published();
      await deleteRecords(brokers.kafka, `${north.prefix}conversions`);
      await copy(north, south, moved);
      await skipToHead(south);
      await append(south, moved);
      await south.append('visitor');
      south.startRelay();
      await south.published();
      expect(versionsOf(await read((events) => versionsOf(events, moved).length > 0), moved)).toEqual([3]);
    });
  });

  describe('with one prefix', () => {
    beforeEach(() => {
      south.prefix = north.prefix;
    });

    it('let only the first of them publish, without an interruption, and name the reason', async () => {
      await Promise.all([north.appendMany(100), south.appendMany(100)]);
      const session = await openRelaySession(north.postgres, north.settings(), logger);
      await session.publishPage(50);
      const relay = south.startRelay();
      await waitUntil(() => relay.current.state === 'refused');
      expect(relay.current.reason).toMatch(/which is not in this log.*another cell.*KAFKA_TOPIC_PREFIX/);
      // It has not been fenced.
      expect(await session.publishPage(1_000)).toBe(50);
      session.close();
      expect(await violations(north)).toEqual(NO_VIOLATIONS);
      expect(await doctor(north)).toMatchObject({ ok: true });
      expect(await doctor(south)).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/which is not in this log/),
        fix: expect.stringContaining('KAFKA_TOPIC_PREFIX'),
      });
    });

    it('count only events of their own', async () => {
      const counts = await Promise.all([CountedConsumers.open(north), CountedConsumers.open(south)]);
      const [northern, southern] = counts;
      // On empty topics neither can know of the other.
      north.startRelay();
      consume(north, northern);
      consume(south, southern);
      await waitUntil(async () => (await members()) === 2);
      await northern.appendMany(300);
      await northern.caughtUp();
      await southern.appendMany(30);
      const relay = south.startRelay();
      await waitUntil(() => relay.current.state === 'refused');
      // A consumer leaves the group when it has read an event of the other cell.
      await waitUntil(async () => {
        await northern.appendMany(30);
        return (await members()) === 1;
      });
      await northern.caughtUp();
      expect(await northern.rows()).toEqual(await northern.expectedRows());
      await southern.runner.catchUp('counted');
      expect(await southern.rows()).toEqual(await southern.expectedRows());
    });
  });
});
