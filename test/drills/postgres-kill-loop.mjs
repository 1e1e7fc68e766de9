// kill -9 of all processes of PostgreSQL under load. The instances must survive it and answer 503 meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const RATE = 250;

export const switches = ['async-commit'];

export async function drill({ short, rounds = short ? 4 : 50, seed, log }) {
  // A commit that does not wait for the disk would be lost for as long as this delay.
  const testbed = await Testbed.open({ seed, database: { settings: { wal_writer_delay: '10s' } } });
  try {
    const random = testbed.random();
    const load = testbed.load({ timeoutMs: 10_000, repeats: 0.02 });
    load.start(RATE);
    for (let round = 0; round < rounds; round += 1) {
      await sleep(1_500 + random() * 3_000);
      await testbed.database.kill();
      testbed.faults.kills += 1;
      await sleep(random() * 3_000);
      await testbed.database.start();
      const acknowledged = load.counts.acknowledged;
      while (load.counts.acknowledged === acknowledged) await sleep(50);
      if (round % 10 === 9) log(`round ${round + 1}: ${load.counts.acknowledged} acknowledged`);
    }
    const rows = await testbed.finish();
    const unexpected = [...load.unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
    return [
      { what: 'requests answered with 503', result: load.counts.unavailable, ok: load.counts.unavailable > 0 },
      { what: '503 without Retry-After', result: load.withoutRetryAfter, ok: load.withoutRetryAfter === 0 },
      { what: 'other answers than 200 and 503', result: unexpected || 0, ok: unexpected === '' },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}
