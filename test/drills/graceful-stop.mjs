// SIGTERM under load: no accepted request fails, nothing is sent twice, the process exits in time.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const RATE = 120;
const EXIT_WITHIN_MS = 15_000;

export const switches = ['abrupt-stop'];

export async function drill({ short, rounds = short ? 4 : 50, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const random = testbed.random();
    const load = testbed.load({ timeoutMs: 30_000 });
    load.start(RATE);
    const exits = [];
    for (let round = 0; round < rounds; round += 1) {
      await sleep(1_000 + random() * 2_000);
      const victim = testbed.instances[round % 2];
      exits.push(await victim.stop());
      testbed.faults.stops += 1;
      await victim.start();
      if (round % 10 === 9) log(`round ${round + 1}: ${load.counts.acknowledged} acknowledged`);
    }
    const rows = await testbed.finish({ repeatsMax: 0 });
    const wrong = exits.filter(({ code, ms }) => code !== 0 || ms > EXIT_WITHIN_MS);
    const slowest = Math.max(...exits.map(({ ms }) => ms));
    return [
      {
        what: 'stops without exit code 0 in time',
        result: `${wrong.length} of ${exits.length}, the slowest took ${(slowest / 1_000).toFixed(1)} s`,
        ok: wrong.length === 0,
      },
      { what: 'accepted requests that were reset', result: load.counts.resets, ok: load.counts.resets === 0 },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}
