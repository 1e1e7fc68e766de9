// The form of `stop-during-stall` and `freeze-takeover-kill` that `npm test` runs: one round of each at the same time, on four
// instances. One is stopped during a stall, one is killed after a freeze, one is stopped while it is frozen, as an
// orchestrator does with a process that hangs. It waits for conditions instead of drawn moments.
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
  const testbed = await Testbed.open({ seed, instances: 4, platforms: ['segment'] });
  try {
    const [stopped, , frozen, hung] = testbed.instances;
    const load = testbed.load({ timeoutMs: CLIENT_TIMEOUT_MS });
    load.start(RATE);
    await until(() => load.counts.acknowledged > 10);

    for (const instance of [frozen, hung]) instance.freeze();
    testbed.faults.freezes += 2;
    const waiting = load.post(frozen.port, WAITING, WITHIN_MS, 'none');
    const waitingAtHung = load.post(hung.port, WAITING, WITHIN_MS);
    const release = await testbed.database.holdLock();
    const stall = sleep(STALL_MS).then(release);
    await until(() => waitingAppends(testbed));
    const exit = stopped.stop();
    const exitOfHung = hung.stop();
    testbed.faults.stops += 2;
    await stall;
    const { code } = await exit;

    testbed.double.behave = () => ({ answer: 'ok', delayMs: PLATFORM_MS });
    for (const instance of [frozen, hung]) instance.thaw();
    const ends = await waiting;
    await frozen.kill();
    testbed.faults.kills += 1;
    testbed.double.behave = () => ({ answer: 'ok' });
    const answered = ends.filter(({ end }) => end === 'acknowledged').length;
    const { code: codeOfHung } = await exitOfHung;
    await waitingAtHung;
    log(`exit ${code} and ${codeOfHung} of the stopped instances, ${answered} acknowledged by the thawed one`);
    return [
      { what: 'exit code of the stopped instance', result: code, ok: code === 0 },
      { what: 'exit code of the instance stopped while frozen', result: codeOfHung, ok: codeOfHung === 0 },
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
