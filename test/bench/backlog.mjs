// What waits for a platform: how fast a backlog drains once the platform is back, and what it holds in memory meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { pause, resume } from './connections.mjs';
import { hasCounters, rssMegabytes } from './counters.mjs';
import { LEFT_OUT, singleRow } from './figures.mjs';
import { withClient } from './postgres.mjs';
import { whileSlow } from './sandbox.mjs';
import { fillInbound } from './variants.mjs';

const LOOK_EVERY_MS = 250;
const FILLED_WITHIN_S = 60;
const FOLDED_WITHIN_MS = 60_000;
const SETTLE_MS = 1_000;
const thousands = (count) => count.toLocaleString('en-US');

/** Where every call waits, a part of the backlog is enough for a rate; all of it would take minutes. */
const ONE_A_CALL_PART = 1 / 25;

/**
 * The same backlog at a platform that takes many conversions a call and at one that takes one, both in the sandbox and
 * both answering after so many milliseconds. What has not drained when the time is up gives a rate as well.
 * @param many, one `{ service, platform }`
 */
export async function drainRows(ms, many, one, sandbox, context) {
  const { backlog } = context.settings;
  const speed = ms === 0 ? 'at once' : `after ${ms} ms`;
  const drained = async (side, count, how) => {
    const what = `backlog of ${thousands(count)} at a platform that takes ${how} a call, answering ${speed}`;
    context.progress(`${what} …`);
    const drain = () => drainBacklog(side, count, context);
    const { rate, left } = await (ms === 0 ? drain() : whileSlow(sandbox, [side.platform], ms, drain));
    return { what: left > 0 ? `${what}; ${thousands(left)} were left` : what, rate };
  };
  const quick = await drained(many, backlog, 'many');
  const slow = await drained(one, ms === 0 ? backlog : backlog * ONE_A_CALL_PART, 'one');
  return [quick, slow, singleRow('↳ many a call: to one a call', quick.rate / slow.rate, 'ratio', { atLeast: 10 })];
}

/** @returns its rate, and how many were left when the time was up */
async function drainBacklog({ service, platform }, backlog, context) {
  await pause(service, platform);
  await fill(service, backlog, context);
  return withClient(service.server, async (client) => {
    const before = await untilFolded(client);
    await resume(service, platform);
    const patience = performance.now() + context.settings.drainSeconds * 1_000;
    let left = await waiting(client, platform);
    while (left > 0 && performance.now() < patience) {
      await sleep(LOOK_EVERY_MS);
      left = await waiting(client, platform);
    }
    return { rate: await takenPerSecond(client, platform, before), left };
  });
}

/** Fewer than were asked for would prove less than the table says. */
async function fill(service, count, context) {
  const { answered, errors, said } = await fillInbound(service, count, { ...context, seconds: FILLED_WITHIN_S });
  if (errors > 0) throw new Error(`${errors} conversions were not accepted: ${said}`);
  if (answered < count) throw new Error(`only ${thousands(answered)} of ${thousands(count)} conversions in the time`);
}

/** Resolves with the log's head as soon as the work list knows of everything up to there. */
async function untilFolded(client) {
  const { rows } = await client.query('SELECT max(position)::float8 AS head FROM cc.events');
  const patience = performance.now() + FOLDED_WITHIN_MS;
  for (;;) {
    const { rows: folded } = await client.query(
      `SELECT position::float8 AS position FROM cc.projections WHERE name = 'deliveries'`,
    );
    if (folded[0].position >= rows[0].head) return rows[0].head;
    if (performance.now() > patience) throw new Error('the list of what waits did not catch up with the log');
    await sleep(LOOK_EVERY_MS);
  }
}

async function waiting(client, platform) {
  const { rows } = await client.query(
    `SELECT count(*)::int AS waiting FROM cc.deliveries WHERE platform = $1 AND kind = 'send'`,
    [platform],
  );
  return rows[0].waiting;
}

/** From the log itself: what the platform took since it was resumed, over the time until the last of it. */
async function takenPerSecond(client, platform, after) {
  const resumed = await client.query(
    `SELECT min(time) AS time FROM cc.events WHERE position > $1 AND type = 'site.platform_resumed.v1'`,
    [after],
  );
  const { rows } = await client.query(
    `SELECT count(*)::int AS taken, extract(epoch FROM max(time) - $3::timestamptz)::float8 AS seconds
       FROM cc.events WHERE position > $1 AND time > $3 AND data->>'platform' = $2
        AND type IN ('conversion.delivered.v1', 'conversion.accepted.v1')`,
    [after, platform, resumed.rows[0].time],
  );
  const [{ taken, seconds }] = rows;
  if (!taken) throw new Error(`nothing of the backlog reached ${platform}`);
  return taken / seconds;
}

/** @param down resolves when the platform does not answer any more */
export async function waitingMemoryRows(service, platform, down, context) {
  const { settings, progress } = context;
  if (!hasCounters) return [{ what: 'RSS with a platform down', figure: LEFT_OUT }];
  await fill(service, settings.warmUp, context);
  await sleep(SETTLE_MS);
  const before = rssMegabytes(service.pid);
  await down();
  progress(`${thousands(settings.waiting)} conversions for a platform that is down …`);
  await fill(service, settings.waiting, context);
  const held = await withClient(service.server, async (client) => {
    await untilFolded(client);
    return waiting(client, platform);
  });
  await sleep(SETTLE_MS);
  const after = rssMegabytes(service.pid);
  if (held < settings.waiting) throw new Error(`only ${thousands(held)} deliveries wait`);
  return [
    singleRow('RSS of the service, its platform up', before, 'MB'),
    singleRow(`RSS with the platform down and ${thousands(held)} deliveries waiting`, after, 'MB'),
    singleRow('↳ growth between the two', after - before, 'MB', { atMost: 30 }),
  ];
}
