// Queued deliveries: how fast a backlog drains once the platform is back, and how much memory it needs.
import { setTimeout as sleep } from 'node:timers/promises';
import { pause, resume } from './connections.mjs';
import { hasCounters, rssMegabytes } from './counters.mjs';
import { SKIPPED, singleRow } from './figures.mjs';
import { withClient } from './postgres.mjs';
import { whileSlow } from './sandbox.mjs';
import { fillInbound } from './variants.mjs';

const POLL_EVERY_MS = 250;
const FILLED_WITHIN_S = 60;
const PROJECTED_WITHIN_MS = 60_000;
const SETTLE_MS = 1_000;
const thousands = (count) => count.toLocaleString('en-US');

/** With slow calls a part of the backlog gives the rate. All of it would take minutes. */
const UNBATCHED_SHARE = 1 / 25;

/**
 * The same backlog for a platform that accepts batches and for one that accepts one conversion per call, both in the
 * sandbox and both answering after `ms`. A backlog that has not drained in time still gives a rate.
 * @param batched, unbatched `{ service, platform }`
 */
export async function drainRows(ms, batched, unbatched, sandbox, context) {
  const { backlog } = context.settings;
  const speed = ms === 0 ? 'at once' : `after ${ms} ms`;
  const drained = async (side, count, how) => {
    const what = `backlog of ${thousands(count)}, platform with ${how} per call, answering ${speed}`;
    context.progress(`${what} …`);
    const drain = () => drainBacklog(side, count, context);
    const { rate, left } = await (ms === 0 ? drain() : whileSlow(sandbox, [side.platform], ms, drain));
    return { what: left > 0 ? `${what}; ${thousands(left)} not delivered` : what, rate };
  };
  const quick = await drained(batched, backlog, 'many conversions');
  const slow = await drained(unbatched, ms === 0 ? backlog : backlog * UNBATCHED_SHARE, 'one conversion');
  return [
    quick,
    slow,
    singleRow('↳ many per call: ratio to one per call', quick.rate / slow.rate, 'ratio', { atLeast: 10 }),
  ];
}

/** @returns the rate, and how many were not delivered in time */
async function drainBacklog({ service, platform }, backlog, context) {
  await pause(service, platform);
  await fill(service, backlog, context);
  return withClient(service.server, async (client) => {
    const before = await untilProjected(client);
    await resume(service, platform);
    const deadline = performance.now() + context.settings.drainSeconds * 1_000;
    let left = await waiting(client, platform);
    while (left > 0 && performance.now() < deadline) {
      await sleep(POLL_EVERY_MS);
      left = await waiting(client, platform);
    }
    return { rate: await deliveredPerSecond(client, platform, before), left };
  });
}

/** Fails when fewer conversions were accepted, because the row's label would then be wrong. */
async function fill(service, count, context) {
  const { answered, errors, stderr } = await fillInbound(service, count, { ...context, seconds: FILLED_WITHIN_S });
  if (errors > 0) throw new Error(`${errors} conversions were not accepted: ${stderr}`);
  if (answered < count) throw new Error(`only ${thousands(answered)} of ${thousands(count)} conversions in time`);
}

/** Resolves with the head of the log once the deliveries projection has reached it. */
async function untilProjected(client) {
  const { rows } = await client.query('SELECT max(position)::float8 AS head FROM cc.events');
  const deadline = performance.now() + PROJECTED_WITHIN_MS;
  for (;;) {
    const { rows: folded } = await client.query(
      `SELECT position::float8 AS position FROM cc.projections WHERE name = 'deliveries'`,
    );
    if (folded[0].position >= rows[0].head) return rows[0].head;
    if (performance.now() > deadline) throw new Error('the deliveries projection did not catch up with the log');
    await sleep(POLL_EVERY_MS);
  }
}

async function waiting(client, platform) {
  const { rows } = await client.query(
    `SELECT count(*)::int AS waiting FROM cc.deliveries WHERE platform = $1 AND kind = 'send'`,
    [platform],
  );
  return rows[0].waiting;
}

/** From the log: deliveries accepted since the platform was resumed, over the time until the last of them. */
async function deliveredPerSecond(client, platform, after) {
  const resumed = await client.query(
    `SELECT min(time) AS time FROM cc.events WHERE position > $1 AND type = 'site.platform_resumed.v1'`,
    [after],
  );
  const { rows } = await client.query(
    `SELECT count(*)::int AS delivered, extract(epoch FROM max(time) - $3::timestamptz)::float8 AS seconds
       FROM cc.events WHERE position > $1 AND time > $3 AND data->>'platform' = $2
        AND type IN ('conversion.delivered.v1', 'conversion.accepted.v1')`,
    [after, platform, resumed.rows[0].time],
  );
  const [{ delivered, seconds }] = rows;
  if (!delivered) throw new Error(`no delivery of the backlog reached ${platform}`);
  return delivered / seconds;
}

/** @param takeDown stops the platform */
export async function waitingMemoryRows(service, platform, takeDown, context) {
  const { settings, progress } = context;
  if (!hasCounters) return [{ what: 'RSS with a platform down', figure: SKIPPED }];
  await fill(service, settings.warmUp, context);
  await sleep(SETTLE_MS);
  const before = rssMegabytes(service.pid);
  await takeDown();
  progress(`${thousands(settings.waiting)} conversions for a platform that is down …`);
  await fill(service, settings.waiting, context);
  const queued = await withClient(service.server, async (client) => {
    await untilProjected(client);
    return waiting(client, platform);
  });
  await sleep(SETTLE_MS);
  const after = rssMegabytes(service.pid);
  if (queued < settings.waiting) throw new Error(`only ${thousands(queued)} deliveries are queued`);
  return [
    singleRow('RSS of the service, platform up', before, 'MB'),
    singleRow(`RSS with the platform down and ${thousands(queued)} deliveries queued`, after, 'MB'),
    singleRow('↳ growth between the two', after - before, 'MB', { atMost: 30 }),
  ];
}
