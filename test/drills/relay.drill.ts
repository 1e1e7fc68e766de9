import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { uuidv7 } from '../../src/kernel/uuid.js';
import {
  applyReaderRule,
  countViolations,
  NO_VIOLATIONS,
  readTopics,
  startTestBrokers,
  type TestBrokers,
  waitUntil,
} from '../support/kafka.js';
import { KafkaEnabledService, TOPICS } from '../support/kafka-enabled-service.js';
import { printSeed, seededRandom } from '../support/seed.mjs';

/**
 * Two instances of the service publish a log under load, while they and the brokers are killed and frozen in turns.
 *
 *   DRILL_ROUNDS=50         number of faults
 *   DRILL_FAULT=frozen      only faults whose name contains this
 *   TEST_SEED=<number>      repeats the random choices of a run
 *   DRILL_BREAK=fence       no fencing by Kafka: the drill must then fail
 */
const ROUNDS = Number(process.env['DRILL_ROUNDS'] ?? 50);
const PRELOADED = ['./freeze-inside.mjs', ...(process.env['DRILL_BREAK'] === 'fence' ? ['./broken-fence.mjs'] : [])];
const NODE_OPTIONS = PRELOADED.map((file) => `--import=${fileURLToPath(new URL(file, import.meta.url))}`).join(' ');
const CATEGORIES = ['conversion', 'visitor', 'auth', 'outbound'];
/** Longer than a lease and a take-over: another instance publishes when the process resumes. */
const FROZEN_MS = 12_000;
const BETWEEN_ROUNDS_MS = 1_500;

describe.each([1, 3])('the relay with %i broker(s) under kills and freezes', (nodes) => {
  const random = seededRandom(printSeed(`relay with ${nodes} broker(s)`));
  let brokers: TestBrokers;
  let kafka: KafkaEnabledService;

  beforeAll(async () => {
    brokers = await startTestBrokers(nodes);
    kafka = await KafkaEnabledService.open(brokers, { KAFKA_PARTITIONS: '3', NODE_OPTIONS }, 2);
  });
  afterAll(async () => {
    await kafka?.close();
    await brokers?.remove();
  });

  const append = () =>
    Promise.all(
      Array.from({ length: 25 }, (_, at) =>
        kafka.log.append({
          category: CATEGORIES[at % CATEGORIES.length] as string,
          stream: uuidv7(),
          expected: 'new',
          site: 'shop.example',
          actor: 'system',
          events: [{ type: `${CATEGORIES[at % CATEGORIES.length]}.happened.v1`, data: { text: 'x'.repeat(200) } }],
        }),
      ),
    );

  /** Index of the instance that publishes, or of a random one while none does. */
  const publishing = async (): Promise<number> => {
    for (const [at, service] of kafka.services.entries()) {
      const ready = await kafka.ready(service).catch(() => undefined);
      if (ready?.body.kafka.state === 'publishing') return at;
    }
    return Math.floor(random() * kafka.services.length);
  };
  const killService = async (at: number) => {
    await kafka.services[at]?.end('SIGKILL');
    await kafka.start(at);
  };
  const freeze = async (process: { signal(name: NodeJS.Signals): void }, ms: number) => {
    process.signal('SIGSTOP');
    await sleep(ms);
    process.signal('SIGCONT');
  };
  const freezeInside = async (trigger: NodeJS.Signals) => {
    const { signal } = service(await publishing());
    signal(trigger);
    await sleep(FROZEN_MS);
    signal('SIGCONT');
  };
  const service = (at: number) => ({ signal: (name: NodeJS.Signals) => void kafka.services[at]?.child.kill(name) });

  const FAULTS: Record<string, () => Promise<unknown>> = {
    'service killed': async () => killService(await publishing()),
    'service frozen': async () => freeze(service(await publishing()), FROZEN_MS),
    'service frozen before it sends': () => freezeInside('SIGWINCH'),
    'service frozen before it commits': () => freezeInside('SIGIO'),
    'broker killed': async () => {
      const node = anyNode();
      await node.kill9();
      await node.restart();
    },
    'broker frozen': () => freeze(anyNode(), 5_000 + random() * 5_000),
    'service and broker killed': async () => {
      const node = anyNode();
      const [at] = await Promise.all([publishing(), node.kill9()]);
      await Promise.all([killService(at), node.restart()]);
    },
    'service killed while the broker is frozen': async () => {
      const node = anyNode();
      const at = await publishing();
      node.signal('SIGSTOP');
      await killService(at);
      await sleep(2_000);
      node.signal('SIGCONT');
    },
  };
  const anyNode = () => brokers.nodes[Math.floor(random() * brokers.nodes.length)] as TestBrokers['nodes'][0];

  it(`publishes every event once and in order after ${ROUNDS} faults`, async () => {
    let isLoading = true;
    const load = (async () => {
      while (isLoading) {
        await append().catch(() => {});
        await sleep(100);
      }
    })();
    const kinds = Object.keys(FAULTS).filter((name) => name.includes(process.env['DRILL_FAULT'] ?? ''));
    for (let round = 0; round < ROUNDS; round += 1) {
      const kind = kinds[round % kinds.length] as string;
      const startedMs = performance.now();
      await FAULTS[kind]?.();
      await sleep(BETWEEN_ROUNDS_MS * random());
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      process.stderr.write(`round ${round + 1}/${ROUNDS}: ${kind}, ${seconds} s, position ${await kafka.log.head()}\n`);
    }
    isLoading = false;
    await load;
    const head = await kafka.log.head();
    await waitUntil(
      async () => (await kafka.published()) === head,
      () => `backlog not drained: ${kafka.services.map(({ output }) => output().slice(-500)).join('\n')}`,
      180_000,
    );

    const expected = (await kafka.log.read()).map(({ position }) => position);
    const committed = await readTopics(brokers.kafka, TOPICS);
    const uncommitted = await readTopics(brokers.kafka, TOPICS, 'uncommitted');
    const results = {
      [`${nodes} broker(s), ${ROUNDS} faults`]: { events: expected.length },
      'read committed': countViolations(committed, expected),
      'read uncommitted': countViolations(uncommitted, expected),
      'read uncommitted, with the reader rule': countViolations(applyReaderRule(uncommitted), expected),
    };
    console.table(results);
    expect(results['read committed']).toEqual(NO_VIOLATIONS);
    expect(results['read uncommitted, with the reader rule']).toEqual(NO_VIOLATIONS);
  }, 3_600_000);
});
