import { buildPayload, type DeliveryPayload } from '../src/delivery/payload/payload.js';
import { CONVERSION, type ConversionData } from '../src/events/conversion.events.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import type { NewEvent } from '../src/log/event.js';
import { platformOf } from '../src/platforms/index.js';
import { PAYLOAD_VERSION } from '../src/platforms/payload-version.js';
import type { Platform, PlatformName } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { createDatabase } from './support/databases.js';
import { loosely } from './support/loose-event.js';
import { type Operator, openOperator, startTestService, type TestService } from './support/service.js';
import { eventually } from './support/waiting.js';

let sandbox: RunningSandbox;
let operator: Operator;
let service: TestService;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  const databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  service = await startTestService(databaseUrl, { DELIVERY_RETRY_SCHEDULE: '1s' });
});
afterAll(async () => {
  await service?.stop();
  await operator?.close();
  await sandbox?.stop();
});

/** As the first version stored them: without a version. */
it.each<[PlatformName, Record<string, string>, Partial<ConversionData>]>([
  ['x', { pixel_id: 'o8z6j', pixel_token: 'token', 'event.purchase': 'tw-o8z6j-o87ne' }, {}],
  ['linkedin', { access_token: 'token', 'event.purchase': '1001' }, { consent: 'denied' }],
  ['segment', { write_key: 'key' }, { consent: 'denied' }],
])('a delivery to %s that an earlier build deferred is sent with the same bytes', async (name, set, more) => {
  const platform = platformOf(name) as Platform;
  const { host, keyId } = await operator.openSite();
  const connect = new ConnectPlatform('cli', host, platform, { set, endpoint: `${sandbox.url}/${name}@${host}` });
  const { connection } = await operator.execute(connect);
  await service.refreshSites();

  const conversionId = uuidv7();
  const data: ConversionData = {
    ...{ conversionId, event: 'purchase', value: 5, currency: 'EUR', orderId: uuidv7(), keyId, trial: false },
    ...{ platforms: [name], siteVersion: connection.version, ...more },
  };
  const append = async (event: NewEvent, expected: 'new' | number) => {
    const stream = { category: CONVERSION, stream: conversionId, site: host, actor: 'system' } as const;
    const appended = await operator.log.append({ ...stream, expected, events: [event] });
    if (appended.status !== 'appended') throw new Error(appended.status);
    return appended;
  };
  const personal = { subject: 'a'.repeat(64) };
  const { position, time } = await append({ type: 'conversion.received.v1', data, personal }, 'new');

  const digest = (payloadVersion?: number) => {
    const received = { site: host, position, time, data, personal };
    const built = buildPayload(received, platform, connection.settings, { payloadVersion });
    return (built as DeliveryPayload).bodySha256;
  };
  const bodySha256 = digest();
  expect(digest(PAYLOAD_VERSION)).not.toBe(bodySha256);
  const deferred = { attempt: 1, status: 'deferred', reason: 'timeout', unknown: true } as const;
  const outcome = { conversionId, platform: name, ...deferred, unknownSince: time, nextTry: time, bodySha256 };
  await append({ type: 'conversion.deferred.v1', data: outcome }, 1);

  const sent = await eventually(
    async () => loosely(await operator.log.readStream(CONVERSION, conversionId)).at(-1),
    (event) => event?.data['attempt'] === 2,
  );
  expect(sent?.data).toMatchObject({ status: 'delivered', bodySha256 });
});
