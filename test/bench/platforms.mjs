// The platforms part: one service for each number of platforms, side by side, and the sandbox that plays the platforms.
import { join } from 'node:path';
import { ARRIVALS_PLATFORM, arrivalRows, startArrivalsPlatform } from './arrivals.mjs';
import { drainRows, waitingMemoryRows } from './backlog.mjs';
import { connect } from './connections.mjs';
import {
  measurePlatformRates,
  ONE,
  ONE_A_CALL,
  platformRateRows,
  SIX,
  SLOW_MS,
  THREE,
  takenRow,
} from './platform-rates.mjs';
import { problemsSeen, startSandbox } from './sandbox.mjs';
import { startService } from './service.mjs';

const CONNECTED = { none: [], one: ONE, three: THREE, six: SIX, oneACall: ONE_A_CALL };
/** The longest part and the end need about that long: past it none is begun. */
const RESERVED_MS = 60_000;

export async function platformsRun(context) {
  const { directory, progress, part } = context;
  progress('starting the sandbox …');
  const sandbox = await part('the sandbox', startSandbox);
  if (!sandbox) return [];
  context.facts.push(
    `platforms: ${SIX.join(', ')}, in this order; ${ONE_A_CALL} takes one conversion a call; the sandbox plays them all in one process`,
    'sandbox µs: its own CPU per request, in no other figure; it shares the machine too',
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
    else context.failures.push(`${name}: not begun, the time was up`);
  };
  await inTime('the deliveries of the rounds', async () => [await takenRow(services)]);
  const clock = await part('the platform with the clock', () => connectArrivals(services.none));
  if (clock) {
    await inTime('the way to a platform', () => arrivalRows(services.none, clock, context));
    // It has told what it saw, and is now the one that goes down.
    await inTime('a platform that is down', () =>
      waitingMemoryRows(services.none, ARRIVALS_PLATFORM, clock.stop, context),
    );
  }
  const many = { service: services.one, platform: ONE[0] };
  const one = { service: services.oneACall, platform: ONE_A_CALL[0] };
  for (const ms of [0, SLOW_MS])
    await inTime(`backlogs, answered after ${ms} ms`, () => drainRows(ms, many, one, sandbox, context));
  await part('the sandbox’s ledger', async () => {
    context.notes.push(...(await problemsSeen(sandbox)).map((problem) => `the sandbox found ${problem}`));
  });
  return rows;
}

async function connectArrivals(service) {
  const platform = await startArrivalsPlatform();
  await connect(service, [ARRIVALS_PLATFORM], platform.url);
  return platform;
}
