// The log reaches the end of its last partition while partition maintenance cannot get its lock: appends are refused by the
// database, and no conversion is to blame.
import { setTimeout as sleep } from 'node:timers/promises';
import { PARTITION_LOCK } from './harness/database.mjs';
import { Testbed } from './harness/testbed.mjs';

const RATE = 30;
const MISSING_MS = 9_000;
const PLATFORM_MS = 1_500;

export const switches = ['row-errors'];

export async function drill({ short, rounds = short ? 1 : 10, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const { database } = testbed;
    // Outcomes are still to be recorded when the partition is missing.
    testbed.double.behave = () => ({ answer: 'ok', delayMs: PLATFORM_MS });
    const load = testbed.load({ timeoutMs: 20_000 });
    load.start(RATE);
    const ready = [];
    for (let round = 0; round < rounds; round += 1) {
      await sleep(3_000);
      const unlock = await database.holdLock(PARTITION_LOCK);
      const client = await database.connect();
      // Under the append's lock: no position may be drawn meanwhile.
      await client.query('SELECT pg_advisory_lock(4845001)');
      const { rows } = await client.query(
        `SELECT last_value AS last, (SELECT max(beyond) FROM cc.log_partitions) AS beyond FROM cc.event_position`,
      );
      await client.query(`SELECT setval('cc.event_position', $1, false)`, [rows[0].beyond]);
      await client.query('SELECT pg_advisory_unlock(4845001)');
      await sleep(MISSING_MS);
      ready.push(await testbed.instances[round % 2].get('/readyz'));
      await client.query(`SELECT setval('cc.event_position', $1)`, [rows[0].last]);
      await client.end();
      await unlock();
      log(`round ${round + 1}: ${load.counts.unavailable} answers 503, /readyz ${ready.at(-1).status}`);
      await sleep(3_000);
    }
    const rows = await testbed.finish();
    const unexpected = [...load.unexpected].map(([status, count]) => `${count} × ${status}`).join(', ');
    const unready = ready.filter(({ status, body }) => status === 503 && /partition/.test(body)).length;
    return [
      { what: 'requests answered with 503', result: load.counts.unavailable, ok: load.counts.unavailable > 0 },
      { what: 'other answers than 200 and 503', result: unexpected || 0, ok: unexpected === '' },
      {
        what: '/readyz names the missing partition',
        result: `${unready} of ${ready.length}`,
        ok: unready === ready.length,
      },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}
