// How long a conversion is under way, from the moment its sender begins to send until a platform has it.
import { fileURLToPath } from 'node:url';
import { startChild, stopChild, untilOutput } from './children.mjs';
import { percentile, singleRow } from './figures.mjs';
import { loadArguments } from './generator.mjs';
import { measure } from './measure.mjs';
import { freePort } from './service.mjs';
import { inboundTarget } from './variants.mjs';

export const ARRIVALS_PLATFORM = 'segment';
const RATE = 300;
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;

export async function startArrivalsPlatform() {
  const port = await freePort();
  const script = fileURLToPath(new URL('arrivals-platform.mjs', import.meta.url));
  const child = startChild('the platform with the clock', process.execPath, [script], { env: { PORT: String(port) } });
  await untilOutput(child, 'ready');
  return { url: `http://127.0.0.1:${port}`, stop: () => stopChild(child) };
}

/** Open loop: the next conversion is sent when its time has come, whatever became of the ones before. */
export async function arrivalRows(service, platform, context) {
  const { settings, progress } = context;
  progress(`${RATE} conversions a second, and when they reach a platform …`);
  await offer(service, WARM_UP_SECONDS, context);
  await noted(platform);
  const sample = await offer(service, settings.arrivalSeconds, context);
  const underWay = Float64Array.from(await noted(platform)).sort();
  if (underWay.length < sample.answered) throw new Error(`${sample.answered - underWay.length} did not arrive`);
  const [p50, p99] = [percentile(underWay, 0.5), percentile(underWay, 0.99)];
  const { rate, errors } = sample;
  return [
    {
      ...singleRow(`request → platform, one platform, open loop at ${RATE}/s: p50`, p50, 'ms', { atMost: 5 }),
      ...{ rate, p50, p99, errors },
    },
    { what: '↳ request → answer to its sender', rate, p50: sample.p50, p99: sample.p99, errors },
  ];
}

function offer(service, seconds, { generator }) {
  const { port, key, path, expect } = inboundTarget(service);
  const args = loadArguments({ port, key, path, expect, seconds, rate: RATE, connections: CONNECTIONS, stamped: true });
  return measure('the open loop', generator.command, [...generator.args, ...args]);
}

async function noted({ url }) {
  return (await fetch(url)).json();
}
