// Rates and CPU with platforms connected, in interleaved rounds, against the echo and against a naive design that sends too.
import { setTimeout as sleep } from 'node:timers/promises';
import { addedCpuRow, ratioRow, singleRow, variantColumns } from './figures.mjs';
import { withClient } from './postgres.mjs';
import { throwAwayServer } from './rates.mjs';
import { interleave, takeDown } from './rounds.mjs';
import { whileSlow } from './sandbox.mjs';
import { httpVariant, inboundTarget, startEcho, startNaive } from './variants.mjs';

/** Those that take many conversions a call, then one that takes one. */
export const ONE = ['meta'];
export const THREE = ['meta', 'tiktok', 'segment'];
export const SIX = ['meta', 'tiktok', 'segment', 'google_ads', 'microsoft_ads', 'linkedin'];
export const ONE_A_CALL = ['ga4'];

const CONNECTIONS = 256;
/** More, so that the number of senders that wait does not set the rate. */
const SLOW_CONNECTIONS = 512;
/** As platforms far away. */
export const SLOW_MS = 50;
const QUIET_WITHIN_MS = 20_000;
const thousands = (count) => count.toLocaleString('en-US');

/** @param services by number of platforms: `none`, `one`, `three`, `six`, and `oneACall` */
export async function measurePlatformRates(services, sandbox, context) {
  const { settings, progress, part } = context;
  const variants = await part('the platforms’ variants', () => makeVariants(services, sandbox, context));
  if (!variants) return undefined;
  // Everything once, unmeasured: a service that has just begun is slower than it will be.
  const warm = (text) => progress(text.replace('round 1/1', 'warming up'));
  await part('the warm-up', () => interleave(variants, 1, warm));
  const result = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (result) takeDown(result, context);
  return result?.samples;
}

async function makeVariants(services, sandbox, context) {
  context.progress('starting the echo and the naive design …');
  const echo = await startEcho();
  const naive = await startNaive(await throwAwayServer('naive', context), sandbox);
  const http = (id, target, connections = CONNECTIONS) => httpVariant(id, target, connections, context);
  const slowed = (id, target) => {
    const { run } = http(id, target, SLOW_CONNECTIONS);
    return { id, run: () => whileSlow(sandbox, THREE, SLOW_MS, run) };
  };
  const sending = (service, [platform]) => ({
    ...inboundTarget(service),
    sandbox,
    // A conversion that is put off costs less than one that is delivered.
    expect: `"${platform}":{"ok":true`,
  });
  const { none, one, three, six, oneACall } = services;
  const sendingNaive = { ...naive, expect: '"meta":{"ok":true' };
  return [
    http('echo', echo),
    http('0 platforms', inboundTarget(none)),
    http('1 platform', sending(one, ONE)),
    http('3 platforms', sending(three, THREE)),
    http('6 platforms', sending(six, SIX)),
    http('1 platform, one a call', sending(oneACall, ONE_A_CALL)),
    http('naive, 3 platforms', sendingNaive),
    slowed('3 slow platforms', sending(three, THREE)),
    slowed('naive, 3 slow platforms', sendingNaive),
  ];
}

export function platformRateRows(samples) {
  const of = (id) => samples[id] ?? [];
  const [echo, none] = [of('echo'), of('0 platforms')];
  const [naive, slow, slowNaive] = [of('naive, 3 platforms'), of('3 slow platforms'), of('naive, 3 slow platforms')];
  const toEcho = (what, own, target) =>
    ratioRow(`${what}: to the echo`, own, echo, { target, columns: variantColumns(own) });
  const added = (own, count, target) =>
    addedCpuRow('↳ CPU each platform adds: to the echo', { samples: own, base: none, unit: echo, count, target });
  const inbound = (id, count, target, cpuTarget) => [
    toEcho(`(b) inbound, ${id}`, of(id), target),
    added(of(id), count, cpuTarget),
  ];
  const atMostTwice = { atMost: 2 };
  const slowly = `answering after ${SLOW_MS} ms, ${SLOW_CONNECTIONS} connections`;
  return [
    {
      what: `(a) raw node:http echo, ${CONNECTIONS} connections`,
      figure: echo.some(Boolean) ? '1.00' : undefined,
      ...variantColumns(echo),
    },
    toEcho('(b) inbound, 0 platforms', none),
    ...inbound('1 platform', 1, { atLeast: 0.22 }, atMostTwice),
    ...inbound('3 platforms', 3, { atLeast: 0.14 }, atMostTwice),
    ...inbound('6 platforms', 6, { atLeast: 0.08 }, atMostTwice),
    ...inbound('1 platform, one a call', 1),
    toEcho('(c) naive design, 3 platforms', naive),
    ratioRow('↳ (b) inbound, 3 platforms: to the naive design', of('3 platforms'), naive, { target: { atLeast: 6 } }),
    toEcho(`(b) inbound, 3 platforms ${slowly}`, slow),
    toEcho(`(c) naive design, 3 platforms ${slowly}`, slowNaive),
    ratioRow('↳ (b) inbound: to the naive design', slow, slowNaive, { target: { atLeast: 10 } }),
  ];
}

/** What was put off, refused or left without an outcome, of all that the rounds sent: it would make a rate look better. */
export async function takenRow(services) {
  let [wanted, taken] = [0, 0];
  for (const { server } of Object.values(services)) {
    const counts = await withClient(server, untilSettled);
    wanted += counts.wanted;
    taken += counts.taken;
  }
  return singleRow(`not taken at the first try (of ${thousands(wanted)} deliveries)`, wanted - taken, 'count', {
    atMost: 0,
  });
}

/** The generator leaves without waiting for its last answers, and the service still works on them. */
async function untilSettled(client) {
  const patience = performance.now() + QUIET_WITHIN_MS;
  for (;;) {
    const { rows } = await client.query(
      `SELECT coalesce(sum(json_array_length(data->'platforms')) FILTER (WHERE type = 'conversion.received.v1'), 0)::int AS wanted,
              count(*) FILTER (WHERE type LIKE 'conversion.%' AND data->>'attempt' = '1')::int AS settled,
              count(*) FILTER (WHERE type IN ('conversion.delivered.v1', 'conversion.accepted.v1')
                                 AND data->>'attempt' = '1')::int AS taken
         FROM cc.events`,
    );
    if (rows[0].settled >= rows[0].wanted || performance.now() > patience) return rows[0];
    await sleep(1_000);
  }
}
