// Clocks that are wrong: of one instance by hours and days, and of the database for 4 s by 400 days.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeClock } from './harness/fake-clock.mjs';
import { Testbed } from './harness/testbed.mjs';

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const SKEWS_S = [8 * DAY_S, HOUR_S, -HOUR_S, DAY_S];
const JUMP_S = 400 * DAY_S;
const JUMP_MS = 4_000;
const RATE = 40;
/** After a jump of the database's clock nothing is stored for half a minute. */
const ACCEPTED_AGAIN_WITHIN_MS = 180_000;

export const switches = ['own-clock', 'trusted-steps'];

export async function drill({ short, rounds = short ? 1 : 6, seed, log }) {
  const testbed = await Testbed.open({ seed, clock: true });
  try {
    const { database, clock } = testbed;
    const random = testbed.random();
    const [, skewed] = testbed.instances;
    const own = new FakeClock(join(testbed.directory, 'clock-of-instance'));
    // Some first attempts fail, so that retry times are computed too.
    testbed.double.behave = () => ({ answer: random() < 0.2 ? 'error' : 'ok' });
    const load = testbed.load({ timeoutMs: 10_000 });
    const before = load.newOrder();
    await load.attempt(before, skewed.port);
    load.record(before, 'acknowledged', 1);
    load.start(RATE);
    const named = [];
    let deduplicated = 0;
    for (let round = 0; round < rounds; round += 1) {
      for (const skew of SKEWS_S) {
        await skewed.stop();
        testbed.faults.stops += 1;
        own.set(skew);
        await skewed.start({ env: own.env });
        await load.post(skewed.port, 20, 20_000);
        named.push(/clock/i.test((await skewed.get('/readyz')).body));
      }
      clock.set(JUMP_S);
      await sleep(JUMP_MS);
      // Killed while leases are taken and renewed by the wrong time: they must not last for 400 days. One instance has only
      // the wrong time to start with.
      const isKilled = round % 2 === 0;
      if (isKilled) {
        await Promise.all(testbed.instances.map((instance) => instance.kill()));
        testbed.faults.kills += testbed.instances.length;
      }
      const started = isKilled ? testbed.instances[0].start() : undefined;
      if (isKilled) await sleep(JUMP_MS);
      clock.set(0);
      if (isKilled) {
        await started;
        await skewed.start({ env: own.env });
      }
      await untilAccepted(load);
      const { body } = await load.attempt(before, skewed.port, 60_000);
      if (/"deduped":true/.test(body ?? '')) deduplicated += 1;
      log(`round ${round + 1}: ${load.counts.acknowledged} acknowledged, ${load.counts.unavailable} answers 503`);
    }
    await skewed.stop();
    await skewed.start();
    await load.post(skewed.port, 20, 20_000);
    const ahead = Number(
      await database.value(
        `SELECT extract(epoch FROM time - clock_timestamp()) FROM cc.events ORDER BY position DESC LIMIT 1`,
      ),
    );
    const rows = await testbed.finish();
    const stepped = Number(
      await database.value(`SELECT count(*) FROM cc.events WHERE time > clock_timestamp() + interval '1 day'`),
    );
    return [
      {
        what: '/readyz names the difference of the clocks',
        result: `${named.filter(Boolean).length} of ${named.length}`,
        ok: named.every(Boolean),
      },
      {
        what: 'requests refused after the jump of the database’s clock',
        result: load.counts.unavailable,
        ok: load.counts.unavailable > 0,
      },
      { what: 'events with a time in the future', result: stepped, ok: stepped === 0 },
      { what: 'newest event ahead of the clock, in s', result: ahead.toFixed(1), ok: Math.abs(ahead) < 60 },
      {
        what: 'a repeat counts as a duplicate after the jump',
        result: `${deduplicated} of ${rounds}`,
        ok: deduplicated === rounds,
      },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}

/** Resolves when a conversion was acknowledged that was posted from now on. */
async function untilAccepted(load) {
  const deadlineMs = performance.now() + ACCEPTED_AGAIN_WITHIN_MS;
  for (const acknowledged = load.counts.acknowledged + 5; load.counts.acknowledged < acknowledged; await sleep(100)) {
    if (performance.now() > deadlineMs) throw new Error('Nothing is accepted after the jump of the clock');
  }
}
