import type { ConnectionName } from '../src/platforms/connection-name.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { createDatabase } from './support/databases.js';
import {
  conversionId,
  getReceipt,
  type Operator,
  openOperator,
  post,
  type Reply,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';

const GOOGLE = { customer_id: '1234567890', client_id: 'c', client_secret: 's', refresh_token: 'r' };
const CONNECTIONS: Partial<Record<ConnectionName, Record<string, string>>> = {
  google_ads: { ...GOOGLE, 'event.purchase': '111,222' },
  'google_ads:upload': { ...GOOGLE, mode: 'upload', developer_token: 'd', 'event.purchase': '111,222' },
  linkedin: { access_token: 'token', 'event.purchase': '1001,1002' },
  x: { pixel_id: 'o8z6j', pixel_token: 'token', 'event.purchase': 'tw-o8z6j-o87ne,tw-o8z6j-o87nf' },
};
const NAMES = Object.keys(CONNECTIONS) as ConnectionName[];

let sandbox: RunningSandbox;
let operator: Operator;
let service: TestService;
let site: TestSite;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  const databaseUrl = await createDatabase();
  operator = await openOperator(databaseUrl);
  const settings = { DELIVERY_RETRY_SCHEDULE: '1s', INBOUND_DEADLINE: '30s' };
  service = await startTestService(databaseUrl, settings, {}, { confirmationPollMs: 1_000 });
  site = await operator.openSite();
  for (const [name, set] of Object.entries(CONNECTIONS)) {
    const platform = platformOf(name) as Platform;
    const endpoint = `${sandbox.url}/${platform.name}@${tenantOf(name)}`;
    await operator.execute(
      new ConnectPlatform('cli', site.host, platform, { set: set ?? {}, endpoint }, name as ConnectionName),
    );
  }
  await service.refreshSites();
});
afterAll(async () => {
  await service?.stop();
  await operator?.close();
  await sandbox?.stop();
});

const tenantOf = (name: string) => name.replace(':', '-');

async function behave(name: ConnectionName, behaviour: object): Promise<void> {
  const body = JSON.stringify({ platform: platformOf(name)?.name, tenant: tenantOf(name), ...behaviour });
  expect((await fetch(`${sandbox.url}/behave`, { method: 'POST', body })).status).toBe(200);
}

/** How often the platform accepted the order for each conversion action. */
async function acceptedActions(name: ConnectionName, orderId: string): Promise<Record<string, number>> {
  const platform = platformOf(name)?.name as string;
  const answer = await fetch(`${sandbox.url}/ledger?platform=${platform}&tenant=${tenantOf(name)}`);
  const { recent } = (await answer.json()) as {
    recent: { received: { eventId: string; event: string; accepted: boolean }[] }[];
  };
  const counts: Record<string, number> = {};
  for (const { eventId, event, accepted } of recent.flatMap(({ received }) => received)) {
    const action = event.replace(/^.*:/, '');
    if (eventId === orderId && accepted) counts[action] = (counts[action] ?? 0) + 1;
  }
  return counts;
}

const idsOf = (name: ConnectionName) => CONNECTIONS[name]?.['event.purchase']?.split(',') ?? [];
const once = (name: ConnectionName) => Object.fromEntries(idsOf(name).map((id) => [id, 1]));

const convert = (orderId: string) =>
  post(service, site, { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });

type Results = Record<string, { status: string; reason?: string }>;
const resultsOf = ({ body }: Reply) => JSON.parse(body).results as Results;

/** The result of one connection, once it is expected. */
async function resultOf(reply: Reply, name: ConnectionName, isExpected: (status: string) => boolean) {
  const results = await eventually(
    async () => resultsOf(await getReceipt(service, site, `/${conversionId(reply)}`)),
    (found) => isExpected(found[name]?.status ?? ''),
  );
  return results[name];
}

it('a conversion is delivered once for each conversion action', async () => {
  const reply = await convert('A1');
  const statuses = Object.entries(resultsOf(reply)).map(([name, { status }]) => `${name} ${status}`);
  expect(statuses).toEqual(['google_ads accepted', 'google_ads:upload delivered', 'linkedin delivered', 'x delivered']);
  expect(await resultOf(reply, 'google_ads', (status) => status === 'delivered')).toEqual({
    ok: true,
    status: 'delivered',
  });
  for (const name of NAMES) expect([name, await acceptedActions(name, 'A1')]).toEqual([name, once(name)]);
});

it('a retry sends a conversion to all conversion actions again', async () => {
  for (const name of NAMES) await behave(name, { mode: 'server_error', times: 1 });
  const reply = await convert('B1');
  for (const name of NAMES) {
    await resultOf(reply, name, (status) => status === 'delivered');
    expect([name, await acceptedActions(name, 'B1')]).toEqual([name, once(name)]);
  }
});

it('a failure at one conversion action names it, and says that the others were delivered', async () => {
  for (const name of ['google_ads:upload', 'linkedin'] as const) {
    await behave(name, { mode: 'refuse_one', times: 1 });
    const [first, second] = idsOf(name);
    const { status, reason } = resultsOf(await convert(`C-${name}`))[name] ?? {};
    expect([status, reason]).toEqual(['failed', expect.stringMatching(`^delivered, but not to ${first}: `)]);
    expect(await acceptedActions(name, `C-${name}`)).toEqual({ [second as string]: 1 });
  }
});

it('a failure that Google reports later names the conversion action', async () => {
  await behave('google_ads', { mode: 'status', status: 'FAILED', reason: 'INVALID_CLICK', action: '222' });
  const result = await resultOf(await convert('D1'), 'google_ads', (status) => status !== 'accepted');
  expect(result).toMatchObject({ status: 'failed', reason: 'delivered, but not to 222: INVALID_CLICK' });
});
