// The form of `stop-during-stall` and `freeze-takeover-kill` that `npm test` runs: three instances, one round of each at the
// same time. It waits for conditions instead of drawn moments.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const RATE = 15;
const STALL_MS = 4_500;
const CLIENT_TIMEOUT_MS = 2_000;
const WAITING = 8;
/** A platform answers after the sender was answered: the outcome of what the thawed instance sends is not recorded. */
const PLATFORM_MS = 3_000;
const WITHIN_MS = 120_000;

export const switches = ['scan'];

export async function drill({ seed, log }) {
  const testbed = await Testbed.open({ seed, instances: 3, platforms: ['segment'] });
  try {
    const [stopped, , frozen] = testbed.instances;
    const load = testbed.load({ timeoutMs: CLIENT_TIMEOUT_MS });
    load.start(RATE);
    await until(() => load.counts.acknowledged > 10);

    frozen.freeze();
    testbed.faults.freezes += 1;
    const waiting = load.post(frozen.port, WAITING, WITHIN_MS, 'none');
    const release = await testbed.database.holdLock();
    const stall = sleep(STALL_MS).then(release);
    await until(() => waitingAppends(testbed));
    const exit = stopped.stop();
    testbed.faults.stops += 1;
    await stall;
    const { code } = await exit;

    testbed.double.behave = () => ({ answer: 'ok', delayMs: PLATFORM_MS });
    frozen.thaw();
    const ends = await waiting;
    await frozen.kill();
    testbed.faults.kills += 1;
    testbed.double.behave = () => ({ answer: 'ok' });
    const answered = ends.filter(({ end }) => end === 'acknowledged').length;
    log(`exit ${code} of the stopped instance, ${answered} acknowledged by the thawed one`);
    return [
      { what: 'exit code of the stopped instance', result: code, ok: code === 0 },
      { what: 'requests that timed out', result: load.counts.timeouts, ok: load.counts.timeouts > 0 },
      { what: 'requests acknowledged between thaw and kill', result: answered, ok: answered > 0 },
      ...(await testbed.finish()),
    ];
  } finally {
    await testbed.close();
  }
}

async function until(condition) {
  for (const deadlineMs = performance.now() + WITHIN_MS; !(await condition()); await sleep(20)) {
    if (performance.now() > deadlineMs) throw new Error(`Not within ${WITHIN_MS / 1_000} s: ${condition}`);
  }
}

async function waitingAppends({ database }) {
  const waiting = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
  return Number(await database.value(waiting)) > 0;
}
