// The latency from the moment a sender sends a conversion until a platform has received it.
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
  const child = startChild('the latency platform', process.execPath, [script], { env: { PORT: String(port) } });
  await untilOutput(child, 'ready');
  return { url: `http://127.0.0.1:${port}`, stop: () => stopChild(child) };
}

/** Open loop: conversions are sent on schedule, whether earlier ones were answered or not. */
export async function arrivalRows(service, platform, context) {
  const { settings, progress } = context;
  progress(`latency to a platform at ${RATE} conversions per second …`);
  await sendAtRate(service, WARM_UP_SECONDS, context);
  await takeLatencies(platform);
  const sample = await sendAtRate(service, settings.arrivalSeconds, context);
  const latencies = Float64Array.from(await takeLatencies(platform)).sort();
  if (latencies.length < sample.answered) throw new Error(`${sample.answered - latencies.length} did not arrive`);
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
  const { rate, errors } = sample;
  return [
    {
      ...singleRow(`request → platform, one platform, open loop at ${RATE}/s: p50`, p50, 'ms', { atMost: 5 }),
      ...{ rate, p50, p99, errors },
    },
    { what: '↳ request → answer to the sender', rate, p50: sample.p50, p99: sample.p99, errors },
  ];
}

function sendAtRate(service, seconds, { generator }) {
  const { port, key, path, expect } = inboundTarget(service);
  const args = loadArguments({ port, key, path, expect, seconds, rate: RATE, connections: CONNECTIONS, stamped: true });
  return measure('the open loop', generator, args);
}

async function takeLatencies({ url }) {
  return (await fetch(url)).json();
}
