import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { ReplayDeliveries } from '../src/delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../src/delivery/replay-deliveries.handler.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { ConnectPlatform, DisconnectPlatform } from '../src/sites/connections/connection.commands.js';
import { createDatabase } from './support/databases.js';
import { loosely } from './support/loose-event.js';
import {
  conversionId,
  type Operator,
  openOperator,
  post,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';

const DELIVERED = { status: 200, json: { events_received: 1, fbtrace_id: 'F' } };
const THROTTLED = { status: 400, json: { error: { code: 17, message: 'User request limit reached' } } };
const UNAUTHORIZED = { status: 401, json: { error: { code: 190, message: 'The token has expired' } } };
const UNKNOWN = { status: 502, json: {} };
const REFUSED = { status: 400, json: { error: { code: 100, error_subcode: 2804009, message: 'Missing value' } } };

let meta: Server;
let service: TestService;
let operator: Operator;
let owner: Client;
/** The answer to every request to a pixel, and the pixels and tokens of the requests that were answered. */
const answers = new Map<string, { status: number; json: object }>();
const requests: { pixel: string; token: string; eventId: string }[] = [];

beforeAll(async () => {
  meta = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      const url = new URL(request.url ?? '', 'http://meta');
      const pixel = url.pathname.split('/')[2] ?? '';
      const token = body.access_token ?? url.searchParams.get('access_token');
      for (const { event_id: eventId } of body.data) requests.push({ pixel, token, eventId });
      const { status, json } = answers.get(pixel) ?? DELIVERED;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
  }).listen(0, '127.0.0.1');
  const databaseUrl = await createDatabase();
  service = await startTestService(databaseUrl, { DELIVERY_RETRY_SCHEDULE: '1s', OUTBOUND_ALLOW_PRIVATE: 'true' });
  operator = await openOperator(databaseUrl);
  owner = new Client({ connectionString: databaseUrl });
  await owner.connect();
  // The log refuses changes; a conversion that was received days ago cannot be made otherwise.
  await owner.query('SET session_replication_role = replica');
});
afterAll(async () => {
  await service.stop();
  await operator.close();
  await owner.end();
  meta.close();
});

const connect = async (site: TestSite, set: Record<string, string>) => {
  const endpoint = `http://127.0.0.1:${(meta.address() as AddressInfo).port}`;
  await operator.execute(new ConnectPlatform('cli', site.host, platformOf('meta') as Platform, { set, endpoint }));
  await service.refreshSites();
};
const buy = async (site: TestSite, orderId: string) => {
  const order = { email: 'jane@example.com', event: 'purchase', value: 1, currency: 'EUR', orderId };
  return conversionId(await post(service, site, order));
};
const outcomes = async (conversion: string) =>
  loosely(await operator.log.readStream(CONVERSION, conversion)).slice(1) as {
    type: string;
    data: { [name: string]: unknown };
  }[];
const until = async (conversion: string, status: string, reason?: string) => {
  const found = await eventually(
    async () => (await outcomes(conversion)).at(-1)?.data ?? {},
    (data) => data['status'] === status && (reason === undefined || data['reason'] === reason),
  );
  return found;
};
/** As if the conversion had been received earlier. */
const age = (conversion: string, hours: number) =>
  owner.query('UPDATE cc.events SET time = time - make_interval(hours => $2) WHERE stream = $1 AND version = 1', [
    conversion,
    hours,
  ]);
const replay = (site: TestSite, conversion: string, force: boolean) =>
  new ReplayDeliveriesHandler(operator.log).execute(
    new ReplayDeliveries('cli', {
      ...{ site: site.host, platform: 'meta', range: { conversion }, siteVersion: 1 },
      ...{ force, dryRun: false, statuses: ['failed', 'skipped'], nowMs: Date.now() },
    }),
  );
const sentTo = (orderId: string) => requests.filter(({ eventId }) => eventId === orderId).map(({ pixel }) => pixel);

describe('deliveries over days', () => {
  it('are sent after a connection was parked over a weekend, unless the platform no longer accepts them', async () => {
    const site = await operator.openSite();
    await connect(site, { pixel_id: '1001', access_token: 'expired' });
    answers.set('1001', UNAUTHORIZED);
    const [weekend, tooOld] = [await buy(site, 'W-60H'), await buy(site, 'W-8D')];
    for (const conversion of [weekend, tooOld]) await until(conversion, 'deferred', 'authorization');
    await age(weekend, 60);
    await age(tooOld, 8 * 24);
    answers.set('1001', DELIVERED);
    await connect(site, { access_token: 'new' });
    await until(weekend, 'delivered');
    await until(tooOld, 'failed', 'gave_up');
    expect(requests.at(-1)).toMatchObject({ pixel: '1001', token: 'new' });

    await replay(site, tooOld, true);
    await eventually(
      async () => (await outcomes(tooOld)).map(({ data }) => data['reason']).filter((reason) => reason === 'gave_up'),
      ({ length }) => length === 2,
    );
  });

  it('are resent after days, also when an operator forces them', async () => {
    const site = await operator.openSite();
    await connect(site, { pixel_id: '1002', access_token: 'token' });
    answers.set('1002', REFUSED);
    const conversion = await buy(site, 'R-60H');
    await until(conversion, 'failed');
    await age(conversion, 60);
    answers.set('1002', DELIVERED);
    await replay(site, conversion, false);
    await until(conversion, 'delivered');
    await replay(site, conversion, true);
    await eventually(
      async () => sentTo('R-60H-r2'),
      ({ length }) => length === 1,
    );
  });
});

describe('a pixel that an operator changes', () => {
  it('gets the retries of conversions that the earlier one clearly refused', async () => {
    const site = await operator.openSite();
    await connect(site, { pixel_id: '2001', access_token: 'token' });
    answers.set('2001', THROTTLED);
    const conversion = await buy(site, 'P-REFUSED');
    await until(conversion, 'deferred', 'throttled');
    await connect(site, { pixel_id: '2002' });
    await until(conversion, 'delivered');
    expect(sentTo('P-REFUSED').at(-1)).toBe('2002');
  });

  it('gets no retry of a conversion that the earlier one may have accepted, even if it refused a later attempt', async () => {
    const site = await operator.openSite();
    await connect(site, { pixel_id: '2003', access_token: 'token' });
    answers.set('2003', UNKNOWN);
    const conversion = await buy(site, 'P-UNKNOWN');
    await until(conversion, 'deferred', 'server_error');
    answers.set('2003', THROTTLED);
    await until(conversion, 'deferred', 'throttled');
    await connect(site, { pixel_id: '2004', access_token: 'current' });
    answers.set('2003', DELIVERED);
    await until(conversion, 'delivered');
    expect(new Set(sentTo('P-UNKNOWN'))).toEqual(new Set(['2003']));
    const digests = (await outcomes(conversion)).map(({ data }) => data['bodySha256']);
    expect(new Set(digests).size).toBe(1);
  });

  it('fails a conversion that an account may have accepted which is no longer connected', async () => {
    const site = await operator.openSite();
    await connect(site, { pixel_id: '2005', access_token: 'token' });
    answers.set('2005', UNKNOWN);
    const conversion = await buy(site, 'P-OTHER');
    await until(conversion, 'deferred', 'server_error');
    await operator.execute(new DisconnectPlatform('cli', site.host, 'meta'));
    await connect(site, { pixel_id: '2006', access_token: 'token-of-another-account' });
    const { reason } = await until(conversion, 'failed');
    expect(['account_disconnected', 'disconnected']).toContain(reason);
    await replay(site, conversion, false);
    await until(conversion, 'failed', 'account_disconnected');
    expect(sentTo('P-OTHER')).not.toContain('2006');
    await replay(site, conversion, true);
    await eventually(
      async () => sentTo('P-OTHER-r2'),
      (pixels) => pixels.includes('2006'),
    );
  });
});
