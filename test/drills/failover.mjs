// The primary of a database with a synchronous standby is killed, frozen and replaced under load. Nothing acknowledged may be lost.
import { failOver } from './harness/failovers.mjs';
import { Testbed } from './harness/testbed.mjs';

const RATE = 150;

export const switches = ['local-commit'];

export async function drill({ short, rounds = short ? 6 : 50, seed, log }) {
  const testbed = await Testbed.open({ seed, cluster: { synchronous: true } });
  try {
    const load = testbed.load({ timeoutMs: 10_000, repeats: 0.02 });
    load.start(RATE);
    const seconds = await failOver(testbed, load, { rounds, random: testbed.random(), log, latencyMs: 40 });
    const rows = await testbed.finish();
    const unexpected = [...load.unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
    return [
      ...seconds,
      { what: 'requests answered with 503', result: load.counts.unavailable, ok: load.counts.unavailable > 0 },
      { what: '503 without Retry-After', result: load.withoutRetryAfter, ok: load.withoutRetryAfter === 0 },
      { what: 'other answers than 200 and 503', result: unexpected || 0, ok: unexpected === '' },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}
