// Platforms of the service under test: connected, paused and resumed with the product's own command line.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runChild } from './children.mjs';
import { ROOT } from './service.mjs';

const SITE = 'localhost';
const SEEN_WITHIN_MS = 20_000;

/** None of it is a secret: the sandbox takes any. */
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

/** Resolves when a conversion of the service reaches them all. */
export async function connect(service, platforms, base) {
  for (const platform of platforms) {
    const set = Object.entries(SETTINGS[platform]).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    await command(service, 'connect', platform, [...set, '--endpoint', `${base}/${platform}`]);
  }
  await untilResults(service, (results) => platforms.every((platform) => results[platform]?.ok));
}

/** Resolves when the service holds back what is for it. */
export async function pause(service, platform) {
  await command(service, 'pause', platform);
  await untilResults(service, (results) => results[platform]?.reason === 'paused');
}

/** Resolves when the log says so; the service reads it there. */
export async function resume(service, platform) {
  await command(service, 'resume', platform);
}

function command({ dataDir }, verb, platform, options = []) {
  const args = [join(ROOT, 'dist/cli.js'), 'platforms', verb, platform, '--site', SITE, ...options];
  const env = { DATA_DIR: dataDir, DATABASE_URL: undefined };
  return runChild(`platforms ${verb} ${platform}`, process.execPath, args, { env });
}

async function untilResults(service, isWanted) {
  const patience = performance.now() + SEEN_WITHIN_MS;
  for (let results; ; await sleep(100)) {
    results = await probe(service);
    if (isWanted(results)) return;
    if (performance.now() > patience) throw new Error(`the service went on with ${JSON.stringify(results)}`);
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
  // By name, because the name is what tells the site.
  const response = await fetch(`http://${SITE}:${port}/__cc/inbound`, { method: 'POST', headers, body });
  const { results, error } = await response.json();
  if (!results) throw new Error(`a probe was answered with ${response.status}: ${error}`);
  return results;
}
