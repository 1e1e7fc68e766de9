// Two instances and platforms that answer just within the timeout of an attempt, without any crash: nothing is sent twice.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

/** An attempt times out after 10 s. */
const ANSWER_AFTER_MS = 9_000;
const RATE = 10;

export const switches = ['delivery-leases'];

export async function drill({ short, minutes = short ? 1 : 10, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const random = testbed.random();
    testbed.double.behave = () => ({ answer: 'ok', delayMs: ANSWER_AFTER_MS - random() * 500 });
    const load = testbed.load({ timeoutMs: 30_000 });
    load.start(RATE);
    await sleep(minutes * 60_000);
    log(`${load.counts.acknowledged} acknowledged`);
    const rows = await testbed.finish({ repeatsMax: 0 });
    return [
      { what: 'requests answered after 8.5 to 9 s', result: testbed.double.requests, ok: testbed.double.requests > 0 },
      ...rows,
    ];
  } finally {
    await testbed.close();
  }
}
