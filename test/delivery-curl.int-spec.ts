import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PlatformClient } from '../src/delivery/connections/platform-client.js';
import type { DeliveryPayload } from '../src/delivery/payload/payload.js';
import { type RedactedRequest, redactedDelivery } from '../src/delivery/payload/redacted-delivery.js';
import { signature } from '../src/http/webhook-signature.js';
import type { Conversion } from '../src/platforms/conversion.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectedPlatform } from './support/connected-platform.js';
import { PLATFORM_CASES } from './support/platform-cases.js';
import { SAMPLE_CONVERSIONS } from './support/sample-conversions.js';

const run = promisify(execFile);
const client = new PlatformClient(false);
let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
});
afterAll(async () => {
  await client.close();
  await sandbox.stop();
});

/** A new order: platforms refuse old ones. With characters that a shell would expand, and a terminal obey or hide. */
function order(): Conversion {
  const sample = SAMPLE_CONVERSIONS['with-click-id'];
  const nowMs = Date.now();
  const orderId = "O'Neil $ACCESS_TOKEN `id` \\ !1\x7f\x9b\u2028\u202e";
  return { ...sample, timeMs: nowMs, eventId: orderId, orderId, externalId: 'Customer-42' };
}

it.each(PLATFORM_CASES)('the shell command of a delivery to $name sends the same body', async (platformCase) => {
  const { platform } = platformCase;
  const connected = new ConnectedPlatform(platformCase, sandbox.url, client);
  const conversion = order();
  await connected.send([conversion]);
  const { connection } = connected;
  const { settings, secrets, endpoint = '' } = connection;
  const payload = connected.buildPayload(conversion) as DeliveryPayload;
  const nowMs = Date.now();
  const stored = { settings, secretNames: Object.keys(secrets), endpoint };
  const shown = redactedDelivery({ platform, payload, connection: stored, secrets, nowMs });
  const { curl, headers, body = '' } = shown.requests[0] as RedactedRequest;
  expect(curl.replaceAll(' \\\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  const id = headers['webhook-id'] ?? '';
  const values: Record<string, string | undefined> = {
    ...Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name.toUpperCase(), value])),
    ...(await connected.accessToken().then((token) => token && { ACCESS_TOKEN: token })),
    ENDPOINT_1: endpoint.split('/').at(-1),
    WEBHOOK_SIGNATURE: signature(secrets['secret'] ?? '', id, Math.floor(nowMs / 1_000), body),
  };
  const env = { PATH: process.env['PATH'], ...values };
  const { stdout } = await run('bash', ['-u', '-c', `${curl} --silent --write-out '\\n%{http_code}'`], { env });
  expect(stdout).toMatch(/\n2\d\d$/);
  expect(await connected.account()).toMatchObject({ repeats: 1, repeatsChanged: 0, problemKinds: {} });
});
