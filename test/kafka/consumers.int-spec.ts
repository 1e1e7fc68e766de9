import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { usesKafka } from '../../src/kafka/client.js';
import { ConsumerSource, wholeUpTo } from '../../src/kafka/consumer-source.js';
import { Relay } from '../../src/kafka/relay.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { readSettings } from '../../src/kernel/settings.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { EventLog } from '../../src/log/event-log.js';
import type { Page, Projection } from '../../src/log/projection.js';
import { ProjectionRunner } from '../../src/log/projection-runner.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { startTestBrokers, type TestBrokers, until } from '../support/kafka.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';

const MEMBER = fileURLToPath(new URL('./consumer-process.mjs', import.meta.url));
const SITES = ['one.example', 'two.example', 'three.example'];

(missingForBroker() ? describe.skip : describe)('a projection that Kafka feeds', () => {
  let server: TestServer;
  let brokers: TestBrokers;
  let databaseUrl: string;
  let postgres: Postgres;
  let log: EventLog;
  let runner: ProjectionRunner;
  let prefix: string;
  let made = 0;
  const members = new Set<ChildProcess>();
  const started = new Set<{ stop(): Promise<void> }>();

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startTestBrokers()]);
  }, 120_000);
  afterAll(async () => {
    await brokers?.remove();
    await server?.stop();
  }, 60_000);

  beforeEach(async () => {
    databaseUrl = await createDatabase(server);
    postgres = await openDatabase(databaseUrl);
    log = new EventLog(postgres);
    runner = new ProjectionRunner(postgres, [counted]);
    made += 1;
    prefix = `c${made}.`;
    const owner = await postgres.connectAsOwner('test');
    await owner.query(`CREATE TABLE cc.counted (site text, type text, count integer NOT NULL, PRIMARY KEY (site, type));
      GRANT ALL ON cc.counted TO cc_service`);
    await owner.end();
  });
  afterEach(async () => {
    for (const member of members) await kill(member);
    await Promise.all([...started].map((one) => one.stop()));
    started.clear();
    await log.close();
    await postgres.close();
  });

  /** As in `consumer-process.mjs`, and unable to count what says that it is poison. */
  const counted: Projection = {
    name: 'counted',
    tables: ['counted'],
    source: 'any',
    nouns: ['conversion', 'visitor'],
    async fold(page: Page) {
      for (const { site, type, data, personal } of await page.events({ nouns: ['conversion', 'visitor'] })) {
        if (data['poison'] || personal) throw new Error('cannot count this one');
        await page.tx.query(
          'INSERT INTO counted VALUES ($1, $2, 1) ON CONFLICT (site, type) DO UPDATE SET count = counted.count + 1',
          [site, type],
        );
      }
    },
  };
  const settingsOf = () => {
    const settings = readSettings({
      KAFKA_BROKERS: brokers.brokers,
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_PARTITIONS: '3',
    });
    if (!usesKafka(settings)) throw new Error('not configured');
    return settings;
  };
  const startRelay = () => {
    const relay = new Relay(postgres, settingsOf(), new Logger('silent'));
    relay.start();
    started.add(relay);
  };
  const startConsumer = () => {
    const source = new ConsumerSource(postgres, settingsOf(), counted, runner, new Logger('silent'));
    source.start();
    started.add(source);
    return source;
  };
  const startMember = async () => {
    const child = spawn(process.execPath, [MEMBER, databaseUrl, brokers.brokers, prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    members.add(child);
    await once(child.stdout, 'data');
    return child;
  };
  const kill = async (member: ChildProcess) => {
    members.delete(member);
    const gone = once(member, 'exit');
    member.kill('SIGKILL');
    await gone;
  };
  const append = (noun: string, site: string, data: object = {}) =>
    log.append({
      noun,
      stream: uuidv7(),
      expected: 'new',
      site,
      actor: 'system',
      events: [{ type: `${noun}.happened.v1`, data, personal: { subject: 'ab'.repeat(32) } }],
    });
  const appendMany = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, at) =>
        append(['conversion', 'visitor', 'site'][at % 3] as string, SITES[(at >> 2) % 3] as string),
      ),
    );
  const rows = async () => (await postgres.pool.query('SELECT * FROM cc.counted ORDER BY site, type')).rows;
  const folded = async () => {
    const counts = new Map<string, number>();
    for (const { site, type } of await log.read({ nouns: ['conversion', 'visitor'] }))
      counts.set(`${site} ${type}`, (counts.get(`${site} ${type}`) ?? 0) + 1);
    return [...counts].sort().map(([key, count]) => {
      const [site, type] = key.split(' ');
      return { site, type, count };
    });
  };
  const caughtUp = () =>
    until(
      async () => {
        const [status] = await runner.status();
        return status?.lag === 0;
      },
      () => 'not caught up',
    );

  it('equals a fold of the log, whichever consumers were killed, joined and lost their partitions meanwhile', async () => {
    await appendMany(100);
    startRelay();
    let [first, second] = await Promise.all([startMember(), startMember()]);
    for (let round = 0; round < 4; round += 1) {
      await appendMany(400);
      if (round % 2 === 0) {
        await kill(first as ChildProcess);
        first = await startMember();
      } else {
        second?.kill('SIGSTOP');
        await appendMany(200);
        second?.kill('SIGCONT');
        await kill(second as ChildProcess);
        second = await startMember();
      }
    }
    await appendMany(200);
    await caughtUp();
    expect(await rows()).toEqual(await folded());
  }, 90_000);

  it('takes what is delivered again for what it is', async () => {
    startRelay();
    const consumer = startConsumer();
    await appendMany(300);
    await caughtUp();
    await consumer.stop();
    started.delete(consumer);
    const admin = brokers.kafka.admin();
    await admin.connect();
    // Kafka has forgotten the group: everything is delivered from the beginning.
    await until(
      async () =>
        await admin.deleteGroups([`${prefix}projection.counted`]).then(
          () => true,
          () => false,
        ),
    );
    await admin.disconnect();
    startConsumer();
    await appendMany(30);
    await caughtUp();
    expect(await rows()).toEqual(await folded());
  }, 60_000);

  it('can be rebuilt, caught up and fed by the log while Kafka feeds it, and counts nothing twice', async () => {
    startRelay();
    startConsumer();
    let appending = true;
    const load = (async () => {
      while (appending) {
        await appendMany(20);
        await sleep(100);
      }
    })();
    // Of every partition of both topics: the last part of this test relies on each having its mark.
    await until(async () => (await postgres.pool.query('SELECT FROM cc.projection_marks')).rowCount === 6);
    for (let round = 0; round < 3; round += 1) {
      await runner.catchUp('counted');
      await runner.rebuild('counted');
    }
    appending = false;
    await load;
    await caughtUp();
    expect(await rows()).toEqual(await folded());
    // Kafka is switched off: the log's tail takes over where the marks are.
    await Promise.all([...started].map((one) => one.stop()));
    started.clear();
    await postgres.pool.query('UPDATE cc.projections SET position = 0');
    await postgres.pool.query('UPDATE cc.projection_marks SET position = $1', [await log.head()]);
    await appendMany(60);
    const tail = new ProjectionRunner(postgres, [counted]);
    await tail.start();
    await tail.catchUp('counted');
    await tail.stop();
    expect(await rows()).toEqual(await folded());
  }, 60_000);

  it('is parked at the event it cannot fold, by name', async () => {
    startRelay();
    startConsumer();
    await appendMany(30);
    await caughtUp();
    await append('conversion', 'one.example', { poison: true });
    const poison = (await log.read()).find(({ data }) => data['poison']);
    await until(async () => (await runner.status())[0]?.state === 'parked');
    expect((await runner.status())[0]?.reason).toContain(`event ${poison?.id} at position ${poison?.position}`);
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
