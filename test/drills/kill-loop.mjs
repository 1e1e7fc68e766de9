// Two instances under load; one of them is killed every few seconds, at a random moment or at a named point of its code.
import { setTimeout as sleep } from 'node:timers/promises';
import { drillModule, Testbed } from './harness/testbed.mjs';

const RATE = 300;
const POINTS = ['before-insert', 'after-commit', 'before-answer', 'before-send', 'after-send', 'before-outcome'];
/** The nth pass of a point kills. */
const CRASH_AT_MAX = 20;
const CRASHED_WITHIN_MS = 20_000;

export const switches = ['scan', 'early-answer'];

export async function drill({ short, rounds = short ? 8 : 200, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const random = testbed.random();
    const load = testbed.load({ repeats: 0.02 });
    load.start(RATE);
    const crashed = new Map(POINTS.map((point) => [point, 0]));
    await sleep(1_000);
    for (let round = 0; round < rounds; round += 1) {
      const victim = testbed.instances[round % 2];
      // Every second kill at a named point: the instance is started anew for it.
      const point = round % 2 === 0 ? undefined : POINTS[((round - 1) / 2) % POINTS.length];
      if (point) {
        await victim.kill();
        testbed.faults.kills += 1;
        const env = { CRASH_POINT: point, CRASH_AT: String(1 + Math.floor(random() * CRASH_AT_MAX)) };
        await victim.start({ preload: [drillModule('crash-points.mjs')], env, mayExit: true });
        await Promise.race([victim.exited(), sleep(CRASHED_WITHIN_MS)]);
        if (victim.state === 'stopped') crashed.set(point, crashed.get(point) + 1);
      } else await sleep(random() * 3_000);
      await victim.kill();
      testbed.faults.kills += 1;
      await sleep(random() * 500);
      await victim.start();
      if (round % 10 === 9) log(`round ${round + 1}: ${load.counts.acknowledged} acknowledged`);
    }
    const missed = [...crashed].filter(([, count]) => count === 0).map(([point]) => point);
    const expected = Math.floor(rounds / 2) >= POINTS.length;
    return [
      {
        what: 'killed at named points',
        result: [...crashed].map(([point, count]) => `${point} ${count}`).join(', '),
        ok: expected ? missed.length === 0 : missed.length < POINTS.length,
      },
      ...(await testbed.finish()),
    ];
  } finally {
    await testbed.close();
  }
}
