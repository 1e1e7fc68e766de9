import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { judge, NOTHING_WRONG, readTopics, startTestBrokers, type TestBrokers, until } from '../support/kafka.js';
import { KafkaService, TOPICS } from '../support/kafka-service.js';

/**
 * A broker that is away for long, dead or frozen: under a steady flow of conversions, and with nothing to do at all.
 *
 *   DRILL_MINUTES=10        how long it is away
 *   DRILL_BREAK=back-off    without any wait between tries: the drill must then fail
 */
const AWAY_MS = Number(process.env['DRILL_MINUTES'] ?? 10) * 60_000;
const BROKEN = fileURLToPath(new URL('./broken-back-off.mjs', import.meta.url));
const NODE_OPTIONS = process.env['DRILL_BREAK'] === 'back-off' ? `--import=${BROKEN}` : '';
const MEASURED_MS = Math.min(AWAY_MS / 3, 50_000);
const SETTLED_MS = 5_000;
const EVERY_MS = 50;
const TICKS_PER_SECOND = 100;
/** What an outage may cost: so many times what is usual, or so little that nobody can tell it from noise. */
const CPU_MAX = { times: 1.5, floor: 0.02 };
const P50_MAX = { times: 1.5, floor: 10 };
const P99_MAX = { times: 2, floor: 50 };

describe('a broker that is away for long', () => {
  let brokers: TestBrokers;
  let kafka: KafkaService;

  beforeAll(async () => {
    brokers = await startTestBrokers();
    kafka = await KafkaService.open(brokers, { NODE_OPTIONS });
  }, 180_000);
  afterAll(async () => {
    await kafka?.close();
    await brokers?.remove();
  }, 120_000);

  const statuses = new Set<number>();
  /** How long each answer took, in milliseconds, while conversions flow for a while. */
  const flow = async (ms: number) => {
    const took: number[] = [];
    for (const began = performance.now(); performance.now() - began < ms; await sleep(EVERY_MS)) {
      const postedMs = performance.now();
      statuses.add(await kafka.post());
      took.push(performance.now() - postedMs);
    }
    took.sort((one, other) => one - other);
    return { p50: took[Math.floor(took.length * 0.5)] ?? 0, p99: took[Math.floor(took.length * 0.99)] ?? 0 };
  };
  const inProc = (file: string) => readFileSync(`/proc/${kafka.service.child.pid}/${file}`, 'utf8');
  /** The service's share of a core while something goes on. */
  const cpuOf = async <Value>(work: Promise<Value>): Promise<Value & { cpu: number }> => {
    const cpuSeconds = () => {
      const fields = inProc('stat').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    };
    const [began, before] = [performance.now(), cpuSeconds()];
    const done = await work;
    return { ...done, cpu: (cpuSeconds() - before) / ((performance.now() - began) / 1_000) };
  };
  /** With conversions, and then without any and whatever they left to do. */
  const measure = async () => {
    const busy = await cpuOf(flow(MEASURED_MS));
    const mb = Number(/VmRSS:\s+(\d+)/.exec(inProc('status'))?.[1]) / 1024;
    await sleep(SETTLED_MS);
    return { ...busy, mb, idle: (await cpuOf(sleep(MEASURED_MS, {}))).cpu };
  };
  const isMet = (usual: number, away: number, { times, floor }: { times: number; floor: number }) =>
    away <= Math.max(times * usual, floor);

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'costs neither requests nor CPU nor order (%s)',
    async (signal) => {
      const [node] = brokers.nodes as [TestBrokers['nodes'][0]];
      statuses.clear();
      await flow(SETTLED_MS);
      const usual = await measure();
      node.signal(signal);
      await flow(Math.max(SETTLED_MS, AWAY_MS - 2 * MEASURED_MS));
      const away = await measure();
      const [position, published] = [await kafka.log.head(), await kafka.published()];
      if (signal === 'SIGKILL') {
        await node.gone;
        await node.restart();
      } else node.signal('SIGCONT');
      const began = performance.now();
      await until(
        async () => (await kafka.published()) >= position,
        () => `not drained: ${kafka.service.output()}`,
        180_000,
      );
      const drainedS = (performance.now() - began) / 1_000;
      const row = (name: 'cpu' | 'idle' | 'p50' | 'p99', max: { times: number; floor: number }, digits: number) => ({
        usual: usual[name].toFixed(digits),
        away: away[name].toFixed(digits),
        allowed: `${max.times} ×, or ${max.floor}`,
        met: isMet(usual[name], away[name], max),
      });
      const judged = {
        'CPU under load, share of a core': row('cpu', CPU_MAX, 3),
        'CPU idle, share of a core': row('idle', CPU_MAX, 3),
        'answered in, ms, p50': row('p50', P50_MAX, 1),
        'answered in, ms, p99': row('p99', P99_MAX, 1),
      };
      console.table({
        ...judged,
        MB: { usual: Math.round(usual.mb), away: Math.round(away.mb) },
        [`backlog of ${signal}`]: { away: position - published },
        'drained in s': { away: drainedS.toFixed(1) },
      });
      expect([...statuses]).toEqual([200]);
      expect(Object.entries(judged).flatMap(([what, { met }]) => (met ? [] : [what]))).toEqual([]);
      const due = (await kafka.log.read()).map(({ position }) => position);
      await until(async () => (await kafka.published()) === due.at(-1));
      expect(judge(await readTopics(brokers.kafka, TOPICS), due)).toEqual(NOTHING_WRONG);
    },
    3_600_000,
  );
});
