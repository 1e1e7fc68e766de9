import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CountedConsumers } from '../support/counted-consumers.js';
import { startTestBrokers, type TestBrokers } from '../support/kafka.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';

/**
 * Three consumers feed a projection from three partitions of two topics under load, while they are killed and frozen and
 * the group changes, in turns.
 *
 *   DRILL_ROUNDS=50         how many faults
 *   DRILL_FAULT=frozen      only those whose name has this in it
 *   DRILL_BREAK=marks       without a look at what was folded before: the drill must then fail
 */
const ROUNDS = Number(process.env['DRILL_ROUNDS'] ?? 50);
const BROKEN = fileURLToPath(new URL('./broken-checkpoints.mjs', import.meta.url));
const NODE_OPTIONS = process.env['DRILL_BREAK'] === 'marks' ? `--import=${BROKEN}` : '';
/** Longer than a group waits for a silent member: somebody else has its partitions when it wakes up. */
const FROZEN_MS = 12_000;
const BETWEEN_ROUNDS_MS = 3_000;

describe('consumers under kills, freezes and rebalances', () => {
  let server: TestServer;
  let brokers: TestBrokers;
  let relayed: RelayedLog;
  let counts: CountedConsumers;

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startTestBrokers()]);
    relayed = await RelayedLog.open(server, brokers);
    counts = await CountedConsumers.open(relayed, NODE_OPTIONS);
  }, 120_000);
  afterAll(async () => {
    await counts?.close();
    await relayed?.close();
    await brokers?.remove();
    await server?.stop();
  }, 60_000);

  it(`count every event once after ${ROUNDS} faults`, async () => {
    const faults = Object.entries(counts.faults(FROZEN_MS)).filter(([name]) =>
      name.includes(process.env['DRILL_FAULT'] ?? ''),
    );
    relayed.startRelay();
    await Promise.all([counts.join(), counts.join(), counts.join()]);
    await counts.underLoad(async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [name, fault] = faults[round % faults.length] as [string, () => Promise<void>];
        const began = performance.now();
        await fault();
        // Time for the group to form anew, or not quite.
        await sleep(BETWEEN_ROUNDS_MS * Math.random());
        const seconds = ((performance.now() - began) / 1_000).toFixed(1);
        process.stderr.write(
          `round ${round + 1}/${ROUNDS}: ${name}, ${seconds} s, position ${await relayed.log.head()}\n`,
        );
      }
    });
    await counts.caughtUp();
    const [rows, folded] = [await counts.rows(), await counts.folded()];
    console.table(
      folded.map(({ site, type, count }, at) => ({ site, type, 'in the log': count, counted: rows[at]?.count })),
    );
    expect(rows).toEqual(folded);
  }, 3_600_000);
});
