import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventLog } from '../../src/log/event-log.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { judge, NOTHING_WRONG, readTopics, startTestBrokers, type TestBrokers, until } from '../support/kafka.js';
import { type ServiceProcess, spawnService } from '../support/service-process.js';

/**
 * A broker that is away for long, dead or frozen, under a steady flow of conversions.
 *
 *   DRILL_MINUTES=10        how long it is away
 */
const AWAY_MS = Number(process.env['DRILL_MINUTES'] ?? 10) * 60_000;
const MEASURED_MS = Math.min(AWAY_MS / 2, 60_000);
const EVERY_MS = 50;
const CPU_RATIO_MAX = 1.5;
const TICKS_PER_SECOND = 100;
const TOPICS = ['conversions', 'visitors', 'sites', 'auth', 'outbound'].map((name) => `cc.${name}`);

describe('a broker that is away for long', () => {
  let brokers: TestBrokers;
  let dataDir: string;
  let postgres: Postgres;
  let log: EventLog;
  let service: ServiceProcess;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'cc-drill-'));
    // As root, another user runs the database, and it must get to its data.
    chmodSync(dataDir, 0o755);
    brokers = await startTestBrokers();
    service = await spawnService(dataDir, { KAFKA_BROKERS: brokers.brokers });
    postgres = await Postgres.open({ databaseUrl: undefined, dataDir, say: () => {} });
    log = new EventLog(postgres);
  }, 180_000);
  afterAll(async () => {
    await log?.close();
    await postgres?.close();
    await service?.end('SIGTERM');
    await brokers?.remove();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }, 120_000);

  let orders = 0;
  const statuses = new Map<number, number>();
  const post = async () => {
    orders += 1;
    const reply = await fetch(`${service.url.replace('127.0.0.1', 'localhost')}/__cc/inbound`, {
      method: 'POST',
      headers: { 'x-cc-api-key': service.key, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 1, orderId: `ORD-${orders}` }),
    });
    await reply.arrayBuffer();
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
  };
  /** CPU of the service, and its memory at the end, while conversions flow for a while. */
  const flow = async (ms: number) => {
    const cpuSeconds = () => {
      const fields = readFileSync(`/proc/${service.child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    };
    const [began, before] = [performance.now(), cpuSeconds()];
    while (performance.now() - began < ms) {
      await post();
      await sleep(EVERY_MS);
    }
    const rssMb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1]) / 1024;
    return { cpu: (cpuSeconds() - before) / ((performance.now() - began) / 1_000), rssMb };
  };
  const head = async () => {
    const position = await log.head();
    const { rows } = await postgres.pool.query<{ position: string }>('SELECT position FROM cc.kafka_relay');
    return { position, published: Number(rows[0]?.position ?? 0) };
  };

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'costs neither requests nor CPU nor order (%s)',
    async (signal) => {
      const [node] = brokers.nodes as [TestBrokers['nodes'][0]];
      statuses.clear();
      await flow(5_000);
      const usual = await flow(MEASURED_MS);
      node.signal(signal);
      await flow(Math.max(5_000, AWAY_MS - MEASURED_MS));
      const away = await flow(MEASURED_MS);
      const { position, published } = await head();
      if (signal === 'SIGKILL') {
        await node.gone;
        await node.restart();
      } else node.signal('SIGCONT');
      const began = performance.now();
      await until(
        async () => (await head()).published >= position,
        () => `not drained: ${service.output()}`,
        180_000,
      );
      console.table({
        [signal]: {
          'answers other than 200': [...statuses.keys()].filter((status) => status !== 200).length,
          'CPU, share of a core, usually': usual.cpu.toFixed(3),
          'and away': away.cpu.toFixed(3),
          'MB usually': Math.round(usual.rssMb),
          'MB away': Math.round(away.rssMb),
          backlog: position - published,
          'drained in s': ((performance.now() - began) / 1_000).toFixed(1),
        },
      });
      expect([...statuses.keys()]).toEqual([200]);
      expect(away.cpu / usual.cpu).toBeLessThanOrEqual(CPU_RATIO_MAX);
      const due = (await log.read()).map(({ position }) => position);
      await until(async () => (await head()).published === due.at(-1));
      expect(judge(await readTopics(brokers.kafka, TOPICS), due)).toEqual(NOTHING_WRONG);
    },
    3_600_000,
  );
});
