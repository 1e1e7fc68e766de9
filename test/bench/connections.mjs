// Connects, pauses and resumes platforms of the service under test through the product's command line.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runChild } from './children.mjs';
import { ROOT } from './service.mjs';

const SITE = 'localhost';
const EFFECTIVE_WITHIN_MS = 20_000;

/** Not secrets: the sandbox accepts any credentials. */
const SETTINGS = {
  google_ads: {
    customer_id: '1234567890',
    client_id: 'bench-client',
    client_secret: 'bench-client-secret',
    refresh_token: 'bench-refresh-token',
    'event.purchase': '111111111',
  },
  meta: { pixel_id: '1234567890', access_token: 'bench-access-token' },
  tiktok: { pixel_code: 'BENCHPIXEL', access_token: 'bench-access-token' },
  microsoft_ads: { tag_id: '12345678', access_token: 'bench-access-token', 'event.purchase': 'purchase' },
  ga4: { measurement_id: 'G-BENCH12345', api_secret: 'bench-api-secret', synthetic_client_id: 'yes' },
  segment: { write_key: 'bench-write-key' },
  linkedin: { access_token: 'bench-access-token', 'event.purchase': '1001' },
};

/** Resolves when a conversion is delivered to all of them. @param root the checkout whose command line is used */
export async function connect(service, platforms, base, root = ROOT) {
  for (const platform of platforms) {
    const set = Object.entries(SETTINGS[platform]).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    await command(service, 'connect', platform, [...set, '--endpoint', `${base}/${platform}`], root);
  }
  await untilResults(service, (results) => platforms.every((platform) => results[platform]?.ok));
}

/** Resolves when the service queues the platform's deliveries. */
export async function pause(service, platform) {
  await command(service, 'pause', platform);
  await untilResults(service, (results) => results[platform]?.reason === 'paused');
}

/** Resolves when the event is in the log, from which the service reads it. */
export async function resume(service, platform) {
  await command(service, 'resume', platform);
}

function command({ dataDir }, verb, platform, options = [], root = ROOT) {
  const args = [join(root, 'dist/cli.js'), 'platforms', verb, platform, '--site', SITE, ...options];
  const env = { DATA_DIR: dataDir, DATABASE_URL: undefined };
  return runChild(`platforms ${verb} ${platform}`, process.execPath, args, { env });
}

async function untilResults(service, isExpected) {
  const deadline = performance.now() + EFFECTIVE_WITHIN_MS;
  for (let results; ; await sleep(100)) {
    results = await probe(service);
    if (isExpected(results)) return;
    if (performance.now() > deadline) throw new Error(`the results are still ${JSON.stringify(results)}`);
  }
}

async function probe({ port, key }) {
  const order = `PROBE-${process.pid}-${performance.now()}`;
  const body = JSON.stringify({
    email: 'probe@example.com',
    event: 'purchase',
    value: 1,
    currency: 'EUR',
    orderId: order,
  });
  const headers = { 'content-type': 'application/json', 'x-cc-api-key': key };
  // By name: the host name selects the site.
  const response = await fetch(`http://${SITE}:${port}/__cc/inbound`, { method: 'POST', headers, body });
  const { results, error } = await response.json();
  if (!results) throw new Error(`a probe got ${response.status}: ${error}`);
  return results;
}
