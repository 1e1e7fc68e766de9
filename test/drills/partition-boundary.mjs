// An instance is frozen while its requests are at a platform. Another one delivers meanwhile and records it in one partition;
// the thawed instance records its own outcome in the next partition, where no index holds the earlier version.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const ORDERS = 10;
const RECOVERED_WITHIN_MS = 180_000;

export const switches = ['unfenced'];

export async function drill({ short, rounds = short ? 1 : 2, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const load = testbed.load();
    let recovered = 0;
    for (let round = 0; round < rounds; round += 1) {
      const [frozen] = testbed.instances;
      let reached = 0;
      testbed.double.behave = () => {
        reached += 1;
        return { answer: 'ok', delayMs: 2_000 };
      };
      const posted = load.post(frozen.port, ORDERS, 120_000, 'none');
      while (reached < testbed.platforms.length) await sleep(10);
      frozen.freeze();
      testbed.faults.freezes += 1;
      testbed.double.behave = () => ({ answer: 'ok' });
      const deadlineMs = performance.now() + RECOVERED_WITHIN_MS;
      let outcomes = 0;
      while (outcomes === 0 && performance.now() < deadlineMs) {
        await sleep(1_000);
        outcomes = await outcomesSince(testbed, round);
      }
      // All of them: they are recorded within a moment.
      await sleep(5_000);
      recovered += await outcomesSince(testbed, round);
      await moveToNextPartition(testbed);
      frozen.thaw();
      await posted;
      log(`round ${round + 1}: ${recovered} outcomes recorded before the boundary`);
      await sleep(5_000);
    }
    return [
      { what: 'outcomes recorded by another instance before the boundary', result: recovered, ok: recovered > 0 },
      ...(await testbed.finish()),
    ];
  } finally {
    await testbed.close();
  }
}

async function outcomesSince({ database, platforms }, round) {
  const total = Number(await database.value(`SELECT count(*) FROM cc.events WHERE type = 'conversion.delivered.v1'`));
  return total - round * ORDERS * platforms.length;
}

/** The next event gets the first position of the next partition. */
async function moveToNextPartition({ database }) {
  const client = await database.connect();
  await client.query('SELECT pg_advisory_lock(4845001)');
  await client.query(
    `SELECT setval('cc.event_position', (SELECT min(first) FROM cc.log_partitions WHERE first > s.last_value), false)
       FROM cc.event_position s`,
  );
  await client.end();
}
