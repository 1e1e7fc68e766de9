import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CountedConsumers } from '../support/counted-consumers.js';
import { startTestBrokers, type TestBrokers } from '../support/kafka.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';
import { printSeed, seededRandom } from '../support/seed.mjs';

/**
 * Three consumers feed a projection from three partitions of two topics under load. In turns they are killed and frozen,
 * and the group is rebalanced.
 *
 *   DRILL_ROUNDS=50           number of faults
 *   DRILL_FAULT=frozen        only faults whose name contains this
 *   TEST_SEED=<number>        repeats the random choices of a run
 *   DRILL_BREAK=checkpoints   consumers ignore their checkpoints: the drill must then fail
 */
const ROUNDS = Number(process.env['DRILL_ROUNDS'] ?? 50);
const BROKEN = fileURLToPath(new URL('./broken-checkpoints.mjs', import.meta.url));
const NODE_OPTIONS = process.env['DRILL_BREAK'] === 'checkpoints' ? `--import=${BROKEN}` : '';
/** Longer than the session timeout: another member owns the partitions when the process resumes. */
const FROZEN_MS = 12_000;
const BETWEEN_ROUNDS_MS = 3_000;

describe('consumers under kills, freezes and rebalances', () => {
  let server: TestServer;
  let brokers: TestBrokers;
  let relayed: RelayedLog;
  let counts: CountedConsumers;

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startTestBrokers()]);
    relayed = await RelayedLog.open(brokers, server);
    counts = await CountedConsumers.open(relayed, NODE_OPTIONS);
  });
  afterAll(async () => {
    await counts?.close();
    await relayed?.close();
    await brokers?.remove();
    await server?.stop();
  });

  it(`count every event once after ${ROUNDS} faults`, async () => {
    const random = seededRandom(printSeed('consumers'));
    const faults = Object.entries(counts.faults(FROZEN_MS)).filter(([name]) =>
      name.includes(process.env['DRILL_FAULT'] ?? ''),
    );
    relayed.startRelay();
    await Promise.all([counts.join(), counts.join(), counts.join()]);
    await counts.underLoad(async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [name, fault] = faults[round % faults.length] as [string, () => Promise<void>];
        const startedMs = performance.now();
        await fault();
        // The next fault meets a stable group or one that is still rebalancing.
        await sleep(BETWEEN_ROUNDS_MS * random());
        const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
        process.stderr.write(
          `round ${round + 1}/${ROUNDS}: ${name}, ${seconds} s, position ${await relayed.log.head()}\n`,
        );
      }
    });
    await counts.caughtUp();
    const [rows, folded] = [await counts.rows(), await counts.expectedRows()];
    console.table(
      folded.map(({ site, type, count }, at) => ({ site, type, 'in the log': count, counted: rows[at]?.count })),
    );
    expect(rows).toEqual(folded);
  }, 3_600_000);
});
