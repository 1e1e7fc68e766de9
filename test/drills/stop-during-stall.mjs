// The append stalls while clients with a short timeout repeat their requests, and one of two instances is stopped: during
// the stall, or while it is frozen, as an orchestrator does with a hung container.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const STALL_MS = 4_500;
const CLIENT_TIMEOUT_MS = 2_000;
const RATE = 60;
/** SHUTDOWN_GRACE, and a margin for a busy machine. */
const EXIT_WITHIN_MS = 15_000;

export const switches = ['early-exit'];

export async function drill({ short, rounds = short ? 2 : 50, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const random = testbed.random();
    const load = testbed.load({ timeoutMs: CLIENT_TIMEOUT_MS });
    load.start(RATE);
    await sleep(1_000);
    const exits = [];
    let waiting = 0;
    for (let round = 0; round < rounds; round += 1) {
      const victim = testbed.instances[round % 2];
      const release = await testbed.database.holdLock();
      const stall = sleep(STALL_MS).then(release);
      await sleep(300 + random() * 1_200);
      waiting += await waitingAppends(testbed);
      // Every second round the instance is frozen when it gets the signal.
      const isFrozen = round % 2 === 1;
      if (isFrozen) {
        victim.freeze();
        testbed.faults.freezes += 1;
      }
      testbed.faults.stops += 1;
      const stopped = victim.stop();
      if (isFrozen) {
        await stall;
        await sleep(random() * 3_000);
        victim.thaw();
      }
      const { code, ms } = await stopped;
      exits.push({ code, ms });
      await stall;
      log(`round ${round + 1}: exit ${code} after ${(ms / 1_000).toFixed(1)} s`);
      await victim.start();
      await sleep(500);
    }
    const rows = await testbed.finish();
    const wrong = exits.filter(({ code, ms }) => code !== 0 || ms > EXIT_WITHIN_MS + STALL_MS);
    return [
      { what: 'appends that waited when an instance was stopped', result: waiting, ok: waiting > 0 },
      { what: 'requests that timed out', result: load.counts.timeouts, ok: load.counts.timeouts > 0 },
      {
        what: 'stops without exit code 0 within the grace period',
        result: wrong.map(({ code, ms }) => `${code} after ${Math.round(ms)} ms`).join(', ') || 0,
        ok: wrong.length === 0,
      },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}

async function waitingAppends({ database }) {
  return Number(await database.value(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`));
}
