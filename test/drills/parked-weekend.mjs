// A token is refused for 60 hours and then replaced: everything is delivered. Refused for 8 days, which is longer than Meta
// accepts conversions: each of them says so. All processes run with one fake clock.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const HOUR_S = 3_600;
const WEEKEND_S = 60 * HOUR_S;
const TOO_LONG_S = 8 * 24 * HOUR_S;
const WITHIN_MS = 240_000;
const TOO_OLD = ['meta failed too_old', 'meta skipped too_old', 'meta failed gave_up'];

export const switches = ['dedup-window'];

export async function drill({ short, rounds = short ? 20 : 500, seed, log }) {
  const testbed = await Testbed.open({ seed, clock: true, instances: 0 });
  try {
    const { clock, database } = testbed;
    const env = clock.env;
    for (let at = 0; at < 2; at += 1) await testbed.addInstance({ env });
    let isRefused = true;
    testbed.double.behave = (platform) => ({ answer: isRefused && platform === 'meta' ? 'unauthorized' : 'ok' });
    const [first] = testbed.instances;

    const weekend = testbed.load({ timeoutMs: 20_000 });
    await weekend.post(first.port, rounds, 20_000);
    await untilParked(testbed);
    clock.set(WEEKEND_S);
    isRefused = false;
    await reconnect(testbed, 'canary-meta-token-2');
    const delivered = await untilCount(testbed, 'ORD1', `status = 'delivered'`, rounds);
    log(`${delivered} of ${rounds} delivered after 60 h`);

    isRefused = true;
    const tooLong = testbed.load({ timeoutMs: 20_000 });
    await tooLong.post(first.port, rounds, 60_000);
    await untilParked(testbed);
    clock.set(WEEKEND_S + TOO_LONG_S);
    isRefused = false;
    await reconnect(testbed, 'canary-meta-token-3');
    const tooOld = await untilCount(testbed, 'ORD2', `status IN ('failed', 'skipped')`, rounds);
    log(`${tooOld} of ${rounds} said to be too old after 8 d`);
    const [{ listed }] = await database.query(
      `SELECT count(*)::integer AS listed FROM cc.events WHERE type LIKE '%parked%'`,
    );
    return [
      { what: 'the connection was parked', result: listed, ok: listed > 0 },
      { what: 'delivered after 60 h', result: `${delivered} of ${rounds}`, ok: delivered === rounds },
      { what: 'too old after 8 d, and visible', result: `${tooOld} of ${rounds}`, ok: tooOld === rounds },
      ...(await testbed.finish({ explained: delivered === rounds ? TOO_OLD : [] })),
    ];
  } finally {
    await testbed.close();
  }
}

/** As an operator does: a new token resumes the connection. Repeated while the database distrusts its clock. */
async function reconnect(testbed, token) {
  const connect = ['platforms', 'connect', 'meta', '--site', testbed.site.host, '--set', `access_token=${token}`];
  for (const deadlineMs = performance.now() + WITHIN_MS; ; await sleep(2_000)) {
    try {
      await testbed.cli(...connect);
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
  }
}

async function untilParked({ database }) {
  const deadlineMs = performance.now() + WITHIN_MS;
  while ((await waitingFor(database)) > 0 && performance.now() < deadlineMs) await sleep(500);
}

/** Conversions whose delivery to Meta has no outcome yet. */
async function waitingFor(database) {
  return Number(
    await database.value(
      `SELECT count(*) FROM cc.events r WHERE r.type = 'conversion.received.v1' AND NOT EXISTS (
         SELECT FROM cc.events o WHERE o.stream = r.stream AND o.version > 1 AND o.data->>'platform' = 'meta')`,
    ),
  );
}

async function untilCount({ database }, prefix, condition, wanted) {
  const deadlineMs = performance.now() + WITHIN_MS;
  for (;;) {
    const count = Number(
      await database.value(
        `SELECT count(*) FROM (
           SELECT DISTINCT ON (o.stream) split_part(o.type, '.', 2) AS status
             FROM cc.events o JOIN cc.events r ON r.stream = o.stream AND r.type = 'conversion.received.v1'
            WHERE o.data->>'platform' = 'meta' AND o.version > 1 AND starts_with(r.reference, $1)
            ORDER BY o.stream, o.version DESC) last WHERE ${condition}`,
        [prefix],
      ),
    );
    if (count >= wanted || performance.now() > deadlineMs) return count;
    await sleep(1_000);
  }
}
