// A network that delivers the bytes of abandoned connections up to 60 s late: first those of appends, whose senders were
// asked to try again, then those of outcomes, whose instance was killed.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const ORDERS = 10;
/** Longer than the deadline of an append. */
const ANSWERED_WITHIN_MS = 30_000;
const LATE_MS = [12_000, 30_000, 60_000];
/** The other instance has found and carried out the deliveries by then. */
const RECOVERED_WITHIN_MS = 180_000;

export const switches = ['append-deadline'];

export async function drill({ short, rounds = short ? 1 : 12, seed, log }) {
  const testbed = await Testbed.open({ seed });
  try {
    const load = testbed.load();
    const late = { bytes: 0, stored: 0, outcomes: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const lateMs = short ? LATE_MS[0] : LATE_MS[round % LATE_MS.length];
      await lateAppends(testbed, load, lateMs, late);
      await lateOutcomes(testbed, load, late);
      log(`round ${round + 1}: ${late.bytes} bytes delivered late, ${late.stored} events stored from them`);
    }
    return [
      { what: 'bytes delivered late', result: late.bytes, ok: late.bytes > 0 },
      { what: 'events stored from them', result: late.stored, ok: late.stored === 0 },
      { what: 'deliveries whose outcome was held back', result: late.outcomes, ok: late.outcomes > 0 },
      ...(await testbed.finish()),
    ];
  } finally {
    await testbed.close();
  }
}

async function lateAppends(testbed, load, lateMs, late) {
  const [instance, other] = testbed.instances;
  // Opens the connection: only what follows is held back.
  await load.post(instance.port, 1, ANSWERED_WITHIN_MS);
  const release = instance.proxy.hold('append');
  const heldMs = performance.now();
  const orders = Array.from({ length: ORDERS }, () => load.newOrder());
  const answers = await Promise.all(orders.map((order) => load.attempt(order, instance.port, ANSWERED_WITHIN_MS)));
  if (answers.some(({ status }) => status !== 503)) throw new Error(`Expected 503: ${JSON.stringify(answers)}`);
  await sleep(Math.max(0, lateMs - (performance.now() - heldMs)));
  const before = await storedOf(testbed, orders);
  late.bytes += release();
  // The bytes have arrived: the server executes them before it ends the connection, 5 s later.
  await sleep(5_500);
  late.stored += (await storedOf(testbed, orders)) - before;
  // The senders try again, as they were asked to.
  await Promise.all(
    orders.map(async (order) => {
      for (let attempts = 2; ; attempts += 1) {
        const { status } = await load.attempt(order, other.port);
        if (status === 200) return load.record(order, 'acknowledged', attempts);
        if (attempts > 100) return load.record(order, 'unknown', attempts);
        await sleep(500);
      }
    }),
  );
}

/**
 * A retry reaches the platform, its outcome does not reach the database, and the instance dies. The bytes arrive after
 * another instance has delivered and recorded it.
 */
async function lateOutcomes(testbed, load, late) {
  const [instance] = testbed.instances;
  let release;
  const attempts = new Map();
  const { behave } = testbed.double;
  // The other instance must not make the retries: it is frozen until they have been sent.
  const [, other] = testbed.instances;
  other.freeze();
  testbed.faults.freezes += 1;
  testbed.double.behave = (platform, orders) => {
    for (const order of orders) attempts.set(`${platform} ${order}`, (attempts.get(`${platform} ${order}`) ?? 0) + 1);
    if (orders.some((order) => attempts.get(`${platform} ${order}`) === 1)) return { answer: 'error' };
    // Held back once a platform has the conversions: the appends of outcomes follow.
    release ??= instance.proxy.hold('append');
    return { answer: 'ok', delayMs: 200 };
  };
  const ends = await load.post(instance.port, ORDERS, ANSWERED_WITHIN_MS, 'none');
  const orders = ends.filter(({ end }) => end === 'acknowledged').map(({ order }) => order);
  const deadlineMs = performance.now() + RECOVERED_WITHIN_MS;
  while (![...attempts.values()].some((count) => count > 1) && performance.now() < deadlineMs) await sleep(20);
  await sleep(2_000);
  testbed.double.behave = behave;
  late.outcomes += [...attempts.values()].filter((count) => count > 1).length;
  await instance.kill();
  testbed.faults.kills += 1;
  other.thaw();
  while (
    (await deliveredOf(testbed, orders)) < orders.length * testbed.platforms.length &&
    performance.now() < deadlineMs
  ) {
    await sleep(500);
  }
  const before = await outcomesOf(testbed, orders);
  if (!release) throw new Error('No retry was sent');
  late.bytes += release();
  await sleep(5_500);
  late.stored += (await outcomesOf(testbed, orders)) - before;
  await instance.start();
}

async function storedOf({ database }, orders) {
  const ids = orders.map(({ id }) => id);
  return Number(await database.value('SELECT count(*) FROM cc.events WHERE reference = ANY ($1)', [ids]));
}

async function outcomesOf({ database }, orders, condition = 'o.version > 1') {
  const ids = orders.map(({ id }) => id);
  return Number(
    await database.value(
      `SELECT count(*) FROM cc.events o WHERE ${condition}
          AND o.stream IN (SELECT stream FROM cc.events WHERE reference = ANY ($1))`,
      [ids],
    ),
  );
}

function deliveredOf(testbed, orders) {
  return outcomesOf(testbed, orders, `o.type = 'conversion.delivered.v1'`);
}
