// The platforms part: one service for each number of platforms, and the sandbox that simulates the platforms.
import { join } from 'node:path';
import { ARRIVALS_PLATFORM, arrivalRows, startArrivalsPlatform } from './arrivals.mjs';
import { drainRows, waitingMemoryRows } from './backlog.mjs';
import { connect } from './connections.mjs';
import {
  firstAttemptRow,
  measurePlatformRates,
  ONE,
  platformRateRows,
  SIX,
  SLOW_MS,
  THREE,
  UNBATCHED,
} from './platform-rates.mjs';
import { reportedProblems, startSandbox } from './sandbox.mjs';
import { startService } from './service.mjs';

const CONNECTED = { none: [], one: ONE, three: THREE, six: SIX, unbatched: UNBATCHED };
/** The longest step takes about this long. None starts with less time left. */
const RESERVED_MS = 60_000;

export async function platformsRun(context) {
  const { directory, progress, part } = context;
  progress('starting the sandbox …');
  const sandbox = await part('the sandbox', startSandbox);
  if (!sandbox) return [];
  context.facts.push(
    `platforms: ${SIX.join(', ')}, in this order; ${UNBATCHED} accepts one conversion per call; one sandbox process simulates all of them`,
    'sandbox µs: CPU of the sandbox per request, not part of any other figure; it shares the machine',
  );
  const services = {};
  for (const [name, platforms] of Object.entries(CONNECTED)) {
    const what = `service with ${platforms.join(', ') || 'no platform'}`;
    progress(`starting a ${what} …`);
    services[name] = await part(`the ${what}`, async () => {
      const service = await startService(join(directory, name));
      await connect(service, platforms, sandbox.url);
      return service;
    });
    if (!services[name]) return [];
  }
  const samples = await measurePlatformRates(services, sandbox, context);
  const rows = samples ? platformRateRows(samples) : [];
  const inTime = async (name, work) => {
    if (performance.now() < context.deadline - RESERVED_MS) rows.push(...((await part(name, work)) ?? []));
    else context.failures.push(`${name}: not started, no time left`);
  };
  await inTime('the deliveries of the rounds', async () => [await firstAttemptRow(services)]);
  const latencyPlatform = await part('the latency platform', () => connectArrivals(services.none));
  if (latencyPlatform) {
    await inTime('the latency to a platform', () => arrivalRows(services.none, latencyPlatform, context));
    // Its latencies have been read. It now becomes the platform that is down.
    await inTime('a platform that is down', () =>
      waitingMemoryRows(services.none, ARRIVALS_PLATFORM, latencyPlatform.stop, context),
    );
  }
  const batched = { service: services.one, platform: ONE[0] };
  const unbatched = { service: services.unbatched, platform: UNBATCHED[0] };
  for (const ms of [0, SLOW_MS])
    await inTime(`backlogs, answered after ${ms} ms`, () => drainRows(ms, batched, unbatched, sandbox, context));
  await part('the sandbox’s ledger', async () => {
    context.notes.push(...(await reportedProblems(sandbox)).map((problem) => `reported by the sandbox: ${problem}`));
  });
  return rows;
}

async function connectArrivals(service) {
  const platform = await startArrivalsPlatform();
  await connect(service, [ARRIVALS_PLATFORM], platform.url);
  return platform;
}
