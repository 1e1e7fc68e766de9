// Rates and CPU with connected platforms, in interleaved rounds, compared with the echo and with a naive design that sends as well.
import { setTimeout as sleep } from 'node:timers/promises';
import { addedCpuRow, ratioRow, singleRow, variantColumns } from './figures.mjs';
import { withClient } from './postgres.mjs';
import { temporaryServer } from './rates.mjs';
import { interleave, recordRounds } from './rounds.mjs';
import { whileSlow } from './sandbox.mjs';
import { httpVariant, inboundTarget, startEcho, startNaive } from './variants.mjs';

/** Platforms that accept batches, then one that accepts one conversion per call. */
export const ONE = ['meta'];
export const THREE = ['meta', 'tiktok', 'segment'];
export const SIX = ['meta', 'tiktok', 'segment', 'google_ads', 'microsoft_ads', 'linkedin'];
export const UNBATCHED = ['ga4'];

const CONNECTIONS = 256;
/** More, so that the number of waiting senders does not limit the rate. */
const SLOW_CONNECTIONS = 512;
/** The latency of a distant platform. */
export const SLOW_MS = 50;
const SETTLED_WITHIN_MS = 20_000;
const thousands = (count) => count.toLocaleString('en-US');

/** @param services by number of platforms: `none`, `one`, `three`, `six`, and `unbatched` */
export async function measurePlatformRates(services, sandbox, context) {
  const { settings, progress, part } = context;
  const variants = await part('the variants with platforms', () => makeVariants(services, sandbox, context));
  if (!variants) return undefined;
  // One round without measurement: a service is slower just after its start.
  const warm = (text) => progress(text.replace('round 1/1', 'warming up'));
  await part('the warm-up', () => interleave(variants, 1, warm));
  const result = await part('the rounds', () => interleave(variants, settings.rounds, progress));
  if (result) recordRounds(result, context);
  return result?.samples;
}

async function makeVariants(services, sandbox, context) {
  context.progress('starting the echo and the naive design …');
  const echo = await startEcho();
  const naive = await startNaive(await temporaryServer('naive', context), sandbox);
  const http = (id, target, connections = CONNECTIONS) => httpVariant(id, target, connections, context);
  const slowed = (id, target) => {
    const { run } = http(id, target, SLOW_CONNECTIONS);
    return { id, run: () => whileSlow(sandbox, THREE, SLOW_MS, run) };
  };
  const sending = (service, [platform]) => ({
    ...inboundTarget(service),
    sandbox,
    // A deferred conversion costs less than a delivered one.
    expect: `"${platform}":{"ok":true`,
  });
  const { none, one, three, six, unbatched } = services;
  const sendingNaive = { ...naive, expect: '"meta":{"ok":true' };
  return [
    http('echo', echo),
    http('0 platforms', inboundTarget(none)),
    http('1 platform', sending(one, ONE)),
    http('3 platforms', sending(three, THREE)),
    http('6 platforms', sending(six, SIX)),
    http('1 platform, one conversion per call', sending(unbatched, UNBATCHED)),
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
    ratioRow(`${what}: ratio to the echo`, own, echo, { target, columns: variantColumns(own) });
  const added = (own, count, target) =>
    addedCpuRow('↳ CPU added per platform: ratio to the echo', { samples: own, base: none, unit: echo, count, target });
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
    ...inbound('1 platform, one conversion per call', 1),
    toEcho('(c) naive design, 3 platforms', naive),
    ratioRow('↳ (b) inbound, 3 platforms: ratio to the naive design', of('3 platforms'), naive, {
      target: { atLeast: 6 },
    }),
    toEcho(`(b) inbound, 3 platforms ${slowly}`, slow),
    toEcho(`(c) naive design, 3 platforms ${slowly}`, slowNaive),
    ratioRow('↳ (b) inbound: ratio to the naive design', slow, slowNaive, { target: { atLeast: 10 } }),
  ];
}

/** Deliveries of the rounds that were deferred, rejected or have no outcome. They would make a rate look better. */
export async function firstAttemptRow(services) {
  let [expected, delivered] = [0, 0];
  for (const { server } of Object.values(services)) {
    const counts = await withClient(server, untilSettled);
    expected += counts.expected;
    delivered += counts.delivered;
  }
  return singleRow(`not delivered at the first attempt (of ${thousands(expected)})`, expected - delivered, 'count', {
    atMost: 0,
  });
}

/** The generator does not wait for its last answers, so the service may still be delivering. */
async function untilSettled(client) {
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const { rows } = await client.query(
      `SELECT coalesce(sum(json_array_length(data->'platforms')) FILTER (WHERE type = 'conversion.received.v1'), 0)::int AS expected,
              count(*) FILTER (WHERE type LIKE 'conversion.%' AND data->>'attempt' = '1')::int AS settled,
              count(*) FILTER (WHERE type IN ('conversion.delivered.v1', 'conversion.accepted.v1')
                                 AND data->>'attempt' = '1')::int AS delivered
         FROM cc.events`,
    );
    if (rows[0].settled >= rows[0].expected || performance.now() > deadline) return rows[0];
    await sleep(1_000);
  }
}
