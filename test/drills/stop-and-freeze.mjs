// The form of `stop-during-stall` and `freeze-takeover-kill` that `npm test` runs: three instances, one round of each at the
// same time. It waits for conditions instead of drawn moments.
import { setTimeout as sleep } from 'node:timers/promises';
import { World } from './harness/world.mjs';

const RATE = 15;
const STALL_MS = 4_500;
const CLIENT_TIMEOUT_MS = 2_000;
const WAITING = 8;
/** A platform answers after the sender was answered: the outcome of what the thawed instance sends is not recorded. */
const PLATFORM_MS = 3_000;
const WITHIN_MS = 120_000;

export const switches = ['scan'];

export async function drill({ seed, log }) {
  const world = await World.open({ seed, instances: 3 });
  try {
    const [stopped, , frozen] = world.instances;
    const load = world.load({ timeoutMs: CLIENT_TIMEOUT_MS });
    load.start(RATE);
    await until(() => load.counts.acknowledged > 10);

    frozen.freeze();
    world.faults.freezes += 1;
    const waiting = load.post(frozen.port, WAITING, WITHIN_MS, 'none');
    const release = await world.database.holdLock();
    const stall = sleep(STALL_MS).then(release);
    await until(() => waitingAppends(world));
    const exit = stopped.stop();
    world.faults.stops += 1;
    await stall;
    const { code } = await exit;

    world.double.behave = () => ({ answer: 'ok', delayMs: PLATFORM_MS });
    frozen.thaw();
    const ends = await waiting;
    await frozen.kill();
    world.faults.kills += 1;
    world.double.behave = () => ({ answer: 'ok' });
    const answered = ends.filter(({ end }) => end === 'acknowledged').length;
    log(`exit ${code} of the stopped instance, ${answered} acknowledged by the thawed one`);
    return [
      { what: 'exit code of the stopped instance', result: code, ok: code === 0 },
      { what: 'requests that timed out', result: load.counts.timeouts, ok: load.counts.timeouts > 0 },
      { what: 'requests acknowledged between thaw and kill', result: answered, ok: answered > 0 },
      ...(await world.finish()),
    ];
  } finally {
    await world.close();
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
