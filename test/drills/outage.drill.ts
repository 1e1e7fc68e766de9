import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  countViolations,
  NO_VIOLATIONS,
  readTopics,
  startTestBrokers,
  type TestBrokers,
  waitUntil,
} from '../support/kafka.js';
import { KafkaEnabledService, TOPICS } from '../support/kafka-enabled-service.js';

/**
 * A long outage of a killed or frozen broker, under a steady load of conversions and without any.
 *
 *   DRILL_MINUTES=10        duration of the outage
 *   DRILL_BREAK=back-off    no delay between attempts: the drill must then fail
 */
const OUTAGE_MS = Number(process.env['DRILL_MINUTES'] ?? 10) * 60_000;
const BROKEN = fileURLToPath(new URL('./broken-back-off.mjs', import.meta.url));
const NODE_OPTIONS = process.env['DRILL_BREAK'] === 'back-off' ? `--import=${BROKEN}` : '';
const MEASURED_MS = Math.min(OUTAGE_MS / 3, 50_000);
const SETTLED_MS = 5_000;
const EVERY_MS = 50;
const TICKS_PER_SECOND = 100;
/** Limits during an outage: a multiple of the normal value, or a floor below which differences are noise. */
const CPU_MAX = { times: 1.5, floor: 0.02 };
const P50_MAX = { times: 1.5, floor: 10 };
const P99_MAX = { times: 2, floor: 50 };

describe('a long outage of the broker', () => {
  let brokers: TestBrokers;
  let kafka: KafkaEnabledService;

  beforeAll(async () => {
    brokers = await startTestBrokers();
    kafka = await KafkaEnabledService.open(brokers, { NODE_OPTIONS });
  });
  afterAll(async () => {
    await kafka?.close();
    await brokers?.remove();
  });

  const statuses = new Set<number>();
  /** Posts conversions for the given time and returns percentiles of the response time in milliseconds. */
  const postFor = async (ms: number) => {
    const latencies: number[] = [];
    for (const startedMs = performance.now(); performance.now() - startedMs < ms; await sleep(EVERY_MS)) {
      const postedMs = performance.now();
      statuses.add(await kafka.post());
      latencies.push(performance.now() - postedMs);
    }
    latencies.sort((one, other) => one - other);
    return {
      p50: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
      p99: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    };
  };
  const inProc = (file: string) => readFileSync(`/proc/${kafka.service.child.pid}/${file}`, 'utf8');
  /** The service's share of a core while `work` runs. */
  const cpuOf = async <Value>(work: Promise<Value>): Promise<Value & { cpu: number }> => {
    const cpuSeconds = () => {
      const fields = inProc('stat').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    };
    const [startedMs, before] = [performance.now(), cpuSeconds()];
    const result = await work;
    return { ...result, cpu: (cpuSeconds() - before) / ((performance.now() - startedMs) / 1_000) };
  };
  /** Under load, then idle after the remaining work has settled. */
  const measure = async () => {
    const busy = await cpuOf(postFor(MEASURED_MS));
    const mb = Number(/VmRSS:\s+(\d+)/.exec(inProc('status'))?.[1]) / 1024;
    await sleep(SETTLED_MS);
    return { ...busy, mb, idle: (await cpuOf(sleep(MEASURED_MS, {}))).cpu };
  };
  const isWithin = (normal: number, outage: number, { times, floor }: { times: number; floor: number }) =>
    outage <= Math.max(times * normal, floor);

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'causes no failed or slow requests, no extra CPU and no lost order (%s)',
    async (signal) => {
      const [node] = brokers.nodes as [TestBrokers['nodes'][0]];
      statuses.clear();
      await postFor(SETTLED_MS);
      const normal = await measure();
      node.signal(signal);
      await postFor(Math.max(SETTLED_MS, OUTAGE_MS - 2 * MEASURED_MS));
      const outage = await measure();
      const [position, published] = [await kafka.log.head(), await kafka.published()];
      if (signal === 'SIGKILL') {
        await node.exited;
        await node.restart();
      } else node.signal('SIGCONT');
      const startedMs = performance.now();
      await waitUntil(
        async () => (await kafka.published()) >= position,
        () => `backlog not drained: ${kafka.service.output()}`,
        180_000,
      );
      const drainedS = (performance.now() - startedMs) / 1_000;
      const row = (name: 'cpu' | 'idle' | 'p50' | 'p99', max: { times: number; floor: number }, digits: number) => ({
        normal: normal[name].toFixed(digits),
        outage: outage[name].toFixed(digits),
        limit: `${max.times} ×, or ${max.floor}`,
        ok: isWithin(normal[name], outage[name], max),
      });
      const limited = {
        'CPU under load, share of a core': row('cpu', CPU_MAX, 3),
        'CPU idle, share of a core': row('idle', CPU_MAX, 3),
        'response time p50, ms': row('p50', P50_MAX, 1),
        'response time p99, ms': row('p99', P99_MAX, 1),
      };
      console.table({
        ...limited,
        MB: { normal: Math.round(normal.mb), outage: Math.round(outage.mb) },
        [`backlog after ${signal}, events`]: { outage: position - published },
        'drained in, s': { outage: drainedS.toFixed(1) },
      });
      expect([...statuses]).toEqual([200]);
      expect(Object.entries(limited).flatMap(([what, { ok }]) => (ok ? [] : [what]))).toEqual([]);
      const expected = (await kafka.log.read()).map(({ position }) => position);
      await waitUntil(async () => (await kafka.published()) === expected.at(-1));
      expect(countViolations(await readTopics(brokers.kafka, TOPICS), expected)).toEqual(NO_VIOLATIONS);
    },
    3_600_000,
  );
});
