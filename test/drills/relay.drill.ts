import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { uuidv7 } from '../../src/kernel/uuid.js';
import {
  afterTheReadersRule,
  judge,
  NOTHING_WRONG,
  readTopics,
  startTestBrokers,
  type TestBrokers,
  until,
} from '../support/kafka.js';
import { KafkaService, TOPICS } from '../support/kafka-service.js';

/**
 * Two instances of the service publish a log under load, while they and the brokers are killed and frozen in turns.
 *
 *   DRILL_ROUNDS=50         how many faults
 *   DRILL_FAULT=frozen      only those whose name has this in it
 *   DRILL_BREAK=fence       without Kafka's fence: the drill must then fail
 */
const ROUNDS = Number(process.env['DRILL_ROUNDS'] ?? 50);
const LOADED = ['./freeze-inside.mjs', ...(process.env['DRILL_BREAK'] === 'fence' ? ['./broken-fence.mjs'] : [])];
const NODE_OPTIONS = LOADED.map((file) => `--import=${fileURLToPath(new URL(file, import.meta.url))}`).join(' ');
const CATEGORIES = ['conversion', 'visitor', 'auth', 'outbound'];
/** Longer than a lease and a take-over: somebody else publishes when it wakes up. */
const FROZEN_MS = 12_000;
const BETWEEN_ROUNDS_MS = 1_500;

describe.each([1, 3])('the relay with %i broker(s) under kills and freezes', (nodes) => {
  let brokers: TestBrokers;
  let kafka: KafkaService;

  beforeAll(async () => {
    brokers = await startTestBrokers(nodes);
    kafka = await KafkaService.open(brokers, { KAFKA_PARTITIONS: '3', NODE_OPTIONS }, 2);
  }, 180_000);
  afterAll(async () => {
    await kafka?.close();
    await brokers?.remove();
  }, 120_000);

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

  /** The one that publishes; either of them while nobody does. */
  const publishing = async (): Promise<number> => {
    for (const [at, service] of kafka.services.entries()) {
      const ready = await kafka.ready(service).catch(() => undefined);
      if (ready?.body.kafka.state === 'publishing') return at;
    }
    return Math.floor(Math.random() * kafka.services.length);
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
  const freezeInside = async (how: NodeJS.Signals) => {
    const { signal } = service(await publishing());
    signal(how);
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
    'broker frozen': () => freeze(anyNode(), 5_000 + Math.random() * 5_000),
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
  const anyNode = () => brokers.nodes[Math.floor(Math.random() * brokers.nodes.length)] as TestBrokers['nodes'][0];

  it(`shows every event once and in order after ${ROUNDS} faults`, async () => {
    let loading = true;
    const load = (async () => {
      while (loading) {
        await append().catch(() => {});
        await sleep(100);
      }
    })();
    const kinds = Object.keys(FAULTS).filter((name) => name.includes(process.env['DRILL_FAULT'] ?? ''));
    for (let round = 0; round < ROUNDS; round += 1) {
      const kind = kinds[round % kinds.length] as string;
      const began = performance.now();
      await FAULTS[kind]?.();
      await sleep(BETWEEN_ROUNDS_MS * Math.random());
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      process.stderr.write(`round ${round + 1}/${ROUNDS}: ${kind}, ${seconds} s, position ${await kafka.log.head()}\n`);
    }
    loading = false;
    await load;
    const head = await kafka.log.head();
    await until(
      async () => (await kafka.published()) === head,
      () => `not drained: ${kafka.services.map(({ output }) => output().slice(-500)).join('\n')}`,
      180_000,
    );

    const due = (await kafka.log.read()).map(({ position }) => position);
    const committed = await readTopics(brokers.kafka, TOPICS);
    const uncommitted = await readTopics(brokers.kafka, TOPICS, 'uncommitted');
    const figures = {
      [`${nodes} broker(s), ${ROUNDS} faults`]: { events: due.length },
      'read committed': judge(committed, due),
      'read uncommitted': judge(uncommitted, due),
      'read uncommitted, by the rule': judge(afterTheReadersRule(uncommitted), due),
    };
    console.table(figures);
    expect(figures['read committed']).toEqual(NOTHING_WRONG);
    expect(figures['read uncommitted, by the rule']).toEqual(NOTHING_WRONG);
  }, 3_600_000);
});
